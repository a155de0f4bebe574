//! A job that is shown inside another one. Two that show each other would draw for ever: what one shows is news
//! for the other one, and back.
//!
//! Whoever shows a job says to its host in which job that happens, and then looks who shows that job in turn, and
//! so on. It is said before it is looked at, so that of two who come at once one sees the other. All of it has one
//! time: a host that is stuck shows nothing, and a person waits for it.
//!
//! Not here: what else is shown, and by what a process knows in which job it runs.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

use stdx::paths;
use vocab::{
    limits::{SHOWN_WITHIN_MAX, SHOWN_WITHIN_MS_MAX},
    outcome::Failure,
};

use super::{AskError, Deadline, Line};
use crate::hello::{Control, Hello, PROTOCOL, Reply, Role};

/// Says to a host, for as long as it is held, in which job its own job is shown.
#[derive(Debug)]
pub struct Within {
    #[expect(dead_code, reason = "held so that the host hears its end")]
    line: Option<Line>,
    is_sure: bool,
}

impl Within {
    /// Says to the host that listens at `shown` that its job is shown in the one whose host listens at `own`.
    ///
    /// # Errors
    /// When the job that is to be shown shows that one itself, be it through others.
    pub fn say(shown: &Path, own: &Path) -> Result<Self, Failure> {
        if shown == own || paths::is_same(shown, own) {
            return Err(refused("this terminal is that job itself"));
        }
        let deadline = Deadline::after(Duration::from_millis(SHOWN_WITHIN_MS_MAX));
        let hello = Hello { within: Some(own.to_owned()), ..control() };
        // One that cannot be talked to shows nothing either: who is to show it finds out the same, and has the words.
        let Ok(mut line) = greet(shown, &hello, &deadline) else {
            return Ok(Self { line: None, is_sure: true });
        };
        // Once it has answered, it has heard the first frame too.
        let mut is_sure = line.ask(&Control::Status, Some(&deadline)).is_ok();
        let mut seen = BTreeSet::new();
        let mut next = vec![own.to_owned()];
        while let Some(socket) = next.pop() {
            if SHOWN_WITHIN_MAX <= seen.len() {
                return Err(refused("too many jobs show each other"));
            }
            if !seen.insert(socket.clone()) {
                continue;
            }
            let above = match above(&socket, &deadline) {
                Ok(above) => above,
                // Where nobody listens, nothing is shown.
                Err(error) => {
                    is_sure &= matches!(error, AskError::Gone(_));
                    continue;
                }
            };
            if above.iter().any(|above| above == shown || paths::is_same(above, shown)) {
                return Err(refused("that job shows the one that this terminal is"));
            }
            next.extend(above);
        }
        Ok(Self { line: Some(line), is_sure })
    }

    /// Tells whether all have answered who were asked: else two jobs may show each other.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        self.is_sure
    }
}

/// Returns the sockets of the hosts in whose jobs a job is shown.
fn above(socket: &Path, deadline: &Deadline) -> Result<Vec<PathBuf>, AskError> {
    let reply = greet(socket, &control(), deadline)?.ask(&Control::Status, Some(deadline))?;
    let Reply::Status(status) = reply else { return Ok(Vec::new()) };
    Ok(status.shown_within)
}

fn control() -> Hello {
    Hello { role: Role::Control, protocol: PROTOCOL, ..Hello::default() }
}

fn greet(socket: &Path, hello: &Hello, deadline: &Deadline) -> Result<Line, AskError> {
    Line::greet(socket, hello, deadline.left()?)
}

fn refused(why: &str) -> Failure {
    let why = format!("{why}, and jobs that show each other would never rest");
    Failure::not_started("attached_to_itself", why)
        .with_hint("detach the other one first, or attach from another terminal")
}
