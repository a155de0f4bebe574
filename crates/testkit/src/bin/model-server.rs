//! The model server as a program: `model-server PLAN.json` or `model-server --instant N`.
//!
//! It prints its base URL on a line of its own and serves until its standard input ends or it is
//! killed, so that it never outlives the test that started it. It has no other options.

#![expect(clippy::disallowed_methods, reason = "a test program reads its plan itself")]

use std::{
    error::Error,
    io::{self, Read as _, Write as _},
    process::ExitCode,
};

use testkit::model_server::{ModelServer, Plan};

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to be told when standard error is gone.
            drop(writeln!(io::stderr(), "model-server: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let plan = match arguments {
        [flag, calls] if flag == "--instant" => Plan::instant(calls.parse()?),
        [path] => serde_json::from_str(&std::fs::read_to_string(path)?)?,
        _ => return Err("usage: model-server (PLAN.json | --instant N)".into()),
    };
    let server = ModelServer::start(plan)?;
    let mut out = io::stdout();
    writeln!(out, "{}", server.base_url())?;
    out.flush()?;
    let mut rest = Vec::new();
    io::stdin().read_to_end(&mut rest)?;
    Ok(())
}
