//! `stead view`: everything that runs on one screen, and the screen of one session.
//!
//! What is shown and what keys do is the view's own matter; here it gets what only this program may read.

use std::{
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
};

use api::client::Client;
use tui::run::{Ground, Left, Setup, Wanted};
use vocab::outcome::Failure;

use crate::{
    args::View,
    client, config, env, exit, models,
    role::{jobs, run},
};

/// Runs the command.
pub(crate) fn run(args: &View) -> anyhow::Result<ExitCode> {
    super::block_on(async move {
        let client = client::connect(&env::paths()?).await?;
        let dir = args.cwd.as_deref().unwrap_or(Path::new("."));
        let setup = setup(client, run::absolute(dir)?)?;
        let cwd = args.cwd.is_some().then(|| setup.ground.cwd.clone());
        let left = tui::run::run(setup, Wanted { all: args.all, cwd }).await?;
        Ok(code_of(left))
    })
}

/// Shows a session until it is left; its run goes on.
pub(crate) fn session(id: &str) -> anyhow::Result<ExitCode> {
    super::block_on(async move {
        let client = client::connect(&env::paths()?).await?;
        let setup = setup(client, run::absolute(Path::new("."))?)?;
        Ok(code_of(tui::run::session(setup, id).await?))
    })
}

fn code_of(left: Left) -> ExitCode {
    ExitCode::from(match left {
        Left::Quit => exit::OK,
        Left::Told => exit::INTERRUPTED,
    })
}

fn setup(client: Client, cwd: String) -> Result<Setup, Failure> {
    if env::get("TERM").is_none_or(|term| term == "dumb") {
        let why = "the view needs a terminal that can move its cursor, and TERM names none";
        return Err(Failure::not_started("not_a_terminal", why)
            .with_hint("stead ls lists the same, stead attach ID shows one of them"));
    }
    let (environment, _) = jobs::environment(&[])?;
    let keys = models::environment_keys(&config::load_and_tell(&env::paths()?)?);
    Ok(Setup {
        client,
        ground: Ground { cwd, env: environment, keys },
        home: env::get("HOME"),
        has_colors: env::colors(true),
        attach,
    })
}

/// Starts our own executable to show a job in this terminal.
#[expect(
    clippy::disallowed_methods,
    reason = "our own executable in another role, not a workspace's child"
)]
fn attach(job: &str) -> std::io::Result<Child> {
    // Through /proc it is this very build, also while the file is being replaced.
    Command::new("/proc/self/exe")
        .arg0("stead")
        .args(["attach", job])
        .stderr(Stdio::piped())
        .spawn()
}
