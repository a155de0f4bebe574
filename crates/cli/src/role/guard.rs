//! The guard of a terminal that shows a job: an internal role, started by `attach`, that gives the terminal
//! back when its client is killed.
//!
//! Its standard input is the client's pipe, its standard output the terminal. It opens nothing.

use std::process::ExitCode;

use pty::attach::guard;

use crate::{exit, print};

/// The word of this role.
pub(crate) const WORD: &str = "guard";

/// Runs the guard until its client has ended.
pub(crate) fn run() -> ExitCode {
    if print::stdin_is_terminal() {
        print::err("stead: guard is started by stead attach, and by nobody else\n");
        return ExitCode::from(exit::USAGE);
    }
    // In a session of its own no key of the terminal reaches it, nor what is meant for the client's group.
    // It was forked a moment ago and leads none, so this cannot fail.
    rustix::process::setsid().ok();
    rustix::process::chdir("/").ok();
    match guard::serve(rustix::stdio::stdin(), rustix::stdio::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody is there to be told.
        Err(_) => ExitCode::from(exit::FAILED),
    }
}
