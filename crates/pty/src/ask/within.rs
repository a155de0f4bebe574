//! A job that is shown inside another one. Two that show each other would draw for ever: what one shows is news
//! for the other one, and back.
//!
//! Whoever shows a job says to its host in which job that happens, and then looks who shows that job in turn, and
//! so on. It is said before it is looked at, so that of two who come at once one sees the other.
//!
//! Not here: what else is shown, and by what a process knows in which job it runs.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

use vocab::{
    limits::{HOST_ANSWER_MS_MAX, SHOWN_WITHIN_MAX},
    outcome::Failure,
};

use super::{Line, ask};
use crate::hello::{Control, Hello, PROTOCOL, Reply, Role};

/// Says to a host, for as long as it is held, in which job its own job is shown.
#[derive(Debug)]
pub struct Within(
    #[expect(dead_code, reason = "held so that the host hears its end")] Option<Line>,
);

impl Within {
    /// Says to the host that listens at `shown` that its job is shown in the one whose host listens at `own`.
    ///
    /// # Errors
    /// When the job that is to be shown shows that one itself, be it through others.
    pub fn say(shown: &Path, own: &Path) -> Result<Self, Failure> {
        if is_same(shown, own) {
            return Err(refused("this terminal is that job itself"));
        }
        let patience = Duration::from_millis(HOST_ANSWER_MS_MAX);
        let within = Some(own.to_owned());
        let hello = Hello { role: Role::Control, protocol: PROTOCOL, within, ..Hello::default() };
        let Ok(mut line) = Line::greet(shown, &hello, patience) else {
            // Whoever shows it finds out the same, and has the words for it.
            return Ok(Self(None));
        };
        // Once it has answered, it has heard the first frame too.
        line.ask(&Control::Status).ok();
        let mut seen = BTreeSet::new();
        let mut next = vec![own.to_owned()];
        while let Some(socket) = next.pop() {
            if SHOWN_WITHIN_MAX <= seen.len() {
                return Err(refused("too many jobs show each other"));
            }
            if !seen.insert(socket.clone()) {
                continue;
            }
            let above = above(&socket);
            if above.iter().any(|above| is_same(above, shown)) {
                return Err(refused("that job shows the one that this terminal is"));
            }
            next.extend(above);
        }
        Ok(Self(Some(line)))
    }
}

/// Returns the sockets of the hosts in whose jobs a job is shown. Where nobody answers, it is shown nowhere.
fn above(socket: &Path) -> Vec<PathBuf> {
    match ask(socket, &Control::Status) {
        Ok(Reply::Status(status)) => status.shown_within,
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// Tells whether two names are those of one socket.
fn is_same(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| rustix::fs::stat(path).ok().map(|found| (found.st_dev, found.st_ino));
    one == other || file(one).is_some_and(|one| Some(one) == file(other))
}

fn refused(why: &str) -> Failure {
    let why = format!("{why}, and jobs that show each other would never rest");
    Failure::not_started("attached_to_itself", why)
        .with_hint("detach the other one first, or attach from another terminal")
}
