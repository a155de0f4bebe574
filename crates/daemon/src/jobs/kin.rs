//! Whose a process is that belongs to a job: a person's, or an agent's.
//!
//! A job decides for all that its program starts. It is known by its host, from which its processes
//! descend, or by the token in their environment, which nobody else was given.
//!
//! Not here: how a process's ancestors are found, and what follows from the answer.

use std::sync::Arc;

use vocab::ids::JobId;

use super::Jobs;

/// Whose the programs of a job are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// A person's: a shell, an editor.
    Person,
    /// An agent's: it is one, or one has asked for it.
    Agent,
}

/// What a job's mark in an environment says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It has the job's token, so the environment is the job's.
    Proven(Whose),
    /// It names the job, and anybody can do that.
    Named(Whose),
}

impl Jobs {
    /// Tells whose the processes below a host are: the first of a family, from the youngest on, that is the
    /// host of a job. None when none of them is.
    #[must_use]
    pub fn whose(&self, family: &[u32]) -> Option<Whose> {
        let mut hosts = self.book().hosts_among(family);
        // A number that was given away is another process.
        hosts.retain(|(host, _)| host.is_alive());
        let nearest = family.iter().find_map(|pid| hosts.iter().find(|(host, _)| host.pid == *pid));
        nearest.map(|(_, record)| of(record.agent))
    }

    /// Tells what a job's mark says; none when there is no such job. Blocks.
    #[must_use]
    pub fn mark(&self, id: &JobId, token: &[u8]) -> Option<Mark> {
        let whose = of(self.book().get(id)?.record.agent);
        // Tokens are not held in memory. Whoever compares here is this user's own process.
        let record = self.check_directory(id).and_then(|()| self.files(id).read());
        let is_its = record.is_ok_and(|record| record.token.as_bytes() == token);
        Some(if is_its { Mark::Proven(whose) } else { Mark::Named(whose) })
    }

    /// Waits until each host that is being started is known: its program may be quicker than we are.
    pub async fn settle(self: &Arc<Self>) {
        self.adopt().await;
        let lanes = self.book().beginning();
        for lane in lanes {
            drop(lane.lock().await);
        }
    }
}

fn of(agent: bool) -> Whose {
    if agent { Whose::Agent } else { Whose::Person }
}
