//! `stead view`: everything that runs on one screen, and the screen of one session.
//!
//! What is shown and what keys do is the view's own matter; here it gets what only this program may read.

use std::{
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
};

use api::client::Client;
use pty::guard::Guard;
use rustix::{
    stdio::{stdin, stdout},
    termios::{isatty, tcgetattr},
};
use tui::run::{FAREWELL, Ground, Left, Moment, Setup, Wanted};
use vocab::outcome::Failure;

use crate::{
    args::View,
    client, config, env, exit, models,
    role::{jobs, run},
};

/// Runs the command.
pub(crate) fn run(args: &View) -> anyhow::Result<ExitCode> {
    // Before there is another thread, and before keys are read, which it would hold as well.
    let guard = match isatty(stdin()) && isatty(stdout()) {
        true => Some(Guard::start(stdin(), stdout()).map_err(unguarded)?),
        false => None,
    };
    super::block_on(async move {
        let client = client::connect(&env::paths()?).await?;
        let dir = args.cwd.as_deref().unwrap_or(Path::new("."));
        let setup = setup(client, run::directory(dir)?)?;
        let cwd = args.cwd.is_some().then(|| setup.ground.cwd.clone());
        let watch = guard.as_ref().map(|guard| |moment| watch(guard, moment));
        let watch = watch.as_ref().map(|watch| watch as tui::run::Guard<'_>);
        let left = tui::run::run(setup, Wanted { all: args.all, cwd }, watch).await?;
        Ok(code_of(left))
    })
}

/// Shows a session until it is left; its run goes on. `guard` is the terminal's.
pub(crate) fn session(id: &str, guard: &Guard) -> anyhow::Result<ExitCode> {
    super::block_on(async move {
        let client = client::connect(&env::paths()?).await?;
        let setup = setup(client, run::absolute(Path::new("."))?)?;
        let left = tui::run::session(setup, id, Some(&|moment| watch(guard, moment))).await?;
        Ok(code_of(left))
    })
}

/// Says to the guard what the view is about to do to the terminal, or that it has given it back.
fn watch(guard: &Guard, moment: Moment) -> Result<(), Failure> {
    if moment == Moment::Given {
        guard.disarm();
        return Ok(());
    }
    let found = tcgetattr(stdin()).map_err(|errno| unguarded(errno.into()))?;
    let mut raw = found.clone();
    raw.make_raw();
    guard.arm(&found, &raw, FAREWELL.as_bytes()).map_err(unguarded)
}

/// Says why a terminal has no guard.
pub(super) fn unguarded(error: std::io::Error) -> Failure {
    Failure::not_started("failed", format!("the terminal cannot be guarded: {error}"))
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
        .args(["attach", job, "--parent", &std::process::id().to_string()])
        .stderr(Stdio::piped())
        .spawn()
}
