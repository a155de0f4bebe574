//! The picture of all jobs: what their files said last, in memory.
//!
//! Not here: reading or writing files, and telling anybody.

use std::{collections::BTreeMap, sync::Arc};

use pty::job::{ExitRecord, JobNote, JobRecord, Told};
use stdx::{clock::Timestamp, proc_id::ProcId};
use tokio::sync::{Mutex as Lane, watch};
use vocab::{
    ids::JobId,
    job::{JobState, Worktree},
    outcome::{Effect, Failure},
};

use super::fault::{Fault, Unusable};
use crate::roster::{Condition, Exit, Kind, Program, Row, Wanted};

/// One job.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// What was asked for, without the values of its environment and without its token.
    pub(super) record: Arc<JobRecord>,
    pub(super) note: JobNote,
    pub(super) exit: Option<ExitRecord>,
    /// Whoever changes it waits for its turn here.
    pub(super) lane: Arc<Lane<()>>,
    /// Whoever writes its note waits for its turn here.
    pub(super) writing: Arc<Lane<()>>,
    /// Tells when its program has ended and that is written down.
    ended: watch::Sender<bool>,
    /// Why it is not wholly known.
    pub(super) fault: Option<Fault>,
    /// Its host died, and what that has left is being ended.
    is_dying: bool,
    /// Which build its host is, once it has said so.
    pub(super) host_version: Option<String>,
}

impl Entry {
    pub(super) fn new(record: JobRecord, note: JobNote, exit: Option<ExitRecord>) -> Self {
        let mut record = record;
        record.env.clear();
        record.token.clear();
        let ended = watch::Sender::new(note.ended_at.is_some());
        let (lane, writing) = (Arc::default(), Arc::default());
        Self {
            record: Arc::new(record),
            note,
            exit,
            lane,
            writing,
            ended,
            fault: None,
            is_dying: false,
            host_version: None,
        }
    }

    pub(super) fn is_live(&self) -> bool {
        self.note.ended_at.is_none()
    }

    /// Tells whether its directory is none of ours, so that nothing in it may be touched.
    pub(super) fn is_refused(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.what == Unusable::Directory)
    }

    /// Demands that what was asked for is known.
    pub(super) fn check_record(&self) -> Result<(), Failure> {
        match &self.fault {
            Some(fault) if fault.what != Unusable::Exit => {
                Err(Failure { effect: Effect::NotStarted, ..fault.failure.clone() })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn name(&self) -> &str {
        self.note.name.as_deref().unwrap_or(&self.record.name)
    }

    pub(super) fn host(&self) -> Option<ProcId> {
        let host = self.note.host.clone()?;
        Some(ProcId { pid: host.host_pid, token: host.host_token })
    }

    /// Returns what tells when its program has ended.
    pub(super) fn ended(&self) -> watch::Receiver<bool> {
        self.ended.subscribe()
    }

    /// Takes over how it ended.
    pub(super) fn end(&mut self, end: Ending, now: i64) {
        self.is_dying = false;
        self.note.told = how_it_ended(&end, self.note.stop_requested);
        self.note.ended_at = Some(now);
        self.note.updated_at = now;
        self.note.worker_pid = None;
        match end {
            Ending::Told(exit) => {
                self.note.ended_at = Some(exit.at);
                self.exit = Some(exit);
            }
            // What is wrong with the record matters more.
            Ending::Unreadable(fault) => drop(self.fault.get_or_insert(fault)),
            Ending::Untold => {}
        }
    }

    /// Tells whether its host died, and what that has left is still being ended.
    pub(super) fn is_dying(&self) -> bool {
        self.is_dying
    }

    /// Notes that its host died, and that what that has left is being ended.
    pub(super) fn dies(&mut self) {
        self.is_dying = true;
        self.note.told = how_it_ended(&Ending::Untold, self.note.stop_requested);
        self.note.told.status = Some("its host died; what it left is being ended".to_owned());
    }

    fn row(&self) -> Row {
        let Told { state, status, waiting_for, state_source: source } = self.note.told.clone();
        let failure = self.fault.as_ref().map(|fault| fault.failure.clone());
        let status = status.or_else(|| Some(failure.as_ref()?.message.clone()));
        let exit = self.exit.as_ref().map(|exit| Exit {
            code: exit.code,
            signal: exit.signal.clone(),
            at: Timestamp::from_millis(exit.at),
        });
        Row {
            id: self.record.id.to_string(),
            kind: Kind::Job,
            name: self.name().to_owned(),
            cwd: self.record.cwd.clone(),
            condition: Condition { state, status, waiting_for, source, failure },
            pinned: self.note.pinned,
            started_at: Timestamp::from_millis(self.note.started_at),
            // Not before its beginning, whatever the wall clock was set to meanwhile.
            ended_at: self
                .note
                .ended_at
                .map(|at| Timestamp::from_millis(at.max(self.note.started_at))),
            program: Program {
                command: self.record.command.clone(),
                pid: self.note.worker_pid.filter(|_| self.is_live()),
                host_version: self.host_version.clone().filter(|_| self.is_live()),
                session_file: self.record.session_file.clone(),
                worktree: self.record.worktree.clone(),
                env_names: self.record.env_names.clone(),
                exit,
            },
        }
    }
}

/// What a change of a note has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing.
    Nothing,
    /// Words alone, which nobody waits for.
    Words,
    /// What somebody may wait for.
    State,
}

/// All jobs.
#[derive(Debug, Default)]
pub(super) struct Book {
    entries: BTreeMap<JobId, Entry>,
}

impl Book {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, id: &JobId) -> Option<&Entry> {
        self.entries.get(id)
    }

    pub(super) fn put(&mut self, id: JobId, entry: Entry) {
        self.entries.insert(id, entry);
    }

    pub(super) fn remove(&mut self, id: &JobId) {
        self.entries.remove(id);
    }

    pub(super) fn live(&self) -> Vec<JobId> {
        let live = self.entries.iter().filter(|(_, entry)| entry.is_live());
        live.map(|(id, _)| id.clone()).collect()
    }

    /// Returns the hosts of jobs that are among some processes, with the jobs' records.
    pub(super) fn hosts_among(&self, pids: &[u32]) -> Vec<(ProcId, Arc<JobRecord>)> {
        let is_one = |host: &ProcId| pids.contains(&host.pid);
        let hosts = self.entries.values().filter(|entry| entry.is_live());
        let hosts = hosts.filter_map(|entry| Some((entry.host().filter(is_one)?, entry)));
        hosts.map(|(host, entry)| (host, Arc::clone(&entry.record))).collect()
    }

    /// Returns the lanes of jobs whose hosts are being started.
    pub(super) fn beginning(&self) -> Vec<Arc<Lane<()>>> {
        let live = self.entries.values().filter(|entry| entry.is_live());
        let begin = live.filter(|entry| entry.note.host.is_none());
        begin.map(|entry| Arc::clone(&entry.lane)).collect()
    }

    /// Returns ids and names, oldest first.
    pub(super) fn names(&self) -> Vec<(JobId, String)> {
        let entries = self.in_order();
        entries.map(|entry| (entry.record.id.clone(), entry.name().to_owned())).collect()
    }

    /// Returns the worktrees that jobs have, or are about to have.
    pub(super) fn trees(&self) -> Vec<Worktree> {
        self.entries.values().filter_map(|entry| entry.record.worktree.clone()).collect()
    }

    pub(super) fn rows(&self, wanted: &Wanted) -> Vec<Row> {
        self.in_order().map(Entry::row).filter(|row| wanted.takes(row)).collect()
    }

    pub(super) fn row(&self, id: &JobId) -> Option<Row> {
        self.entries.get(id).map(Entry::row)
    }

    /// Changes a note and returns it as it is then; none when there is no such job.
    pub(super) fn edit(&mut self, id: &JobId, edit: impl FnOnce(&mut JobNote)) -> Option<JobNote> {
        let entry = self.entries.get_mut(id)?;
        edit(&mut entry.note);
        Some(entry.note.clone())
    }

    /// Notes which build a job's host is; none where it is about to be another one.
    pub(super) fn set_host_version(&mut self, id: &JobId, version: Option<String>) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.host_version = version;
        }
    }

    /// Takes over what a host tells, as long as its program runs.
    pub(super) fn hear(&mut self, id: &JobId, told: Told) -> Change {
        let Some(entry) = self.entries.get_mut(id).filter(|entry| entry.is_live()) else {
            return Change::Nothing;
        };
        let before = std::mem::replace(&mut entry.note.told, told);
        let after = &entry.note.told;
        if (before.state, &before.waiting_for) != (after.state, &after.waiting_for) {
            Change::State
        } else if before == *after {
            Change::Nothing
        } else {
            Change::Words
        }
    }

    /// Takes over an end. Returns the state; none when it was known. Who waits for it is woken up later.
    pub(super) fn end(&mut self, id: &JobId, end: Ending, now: i64) -> Option<JobState> {
        let entry = self.entries.get_mut(id).filter(|entry| entry.is_live())?;
        entry.end(end, now);
        Some(entry.note.told.state)
    }

    /// Notes that a host died, unless the end is known.
    pub(super) fn dies(&mut self, id: &JobId) {
        if let Some(entry) = self.entries.get_mut(id).filter(|entry| entry.is_live()) {
            entry.dies();
        }
    }

    /// Takes it back that a host died, and wakes up who waits for the end of what it has left.
    pub(super) fn lives_on(&mut self, id: &JobId) {
        if let Some(entry) = self.entries.get_mut(id).filter(|entry| entry.is_dying) {
            entry.is_dying = false;
            entry.note.told = Told::by_process(JobState::Working);
            entry.ended.send_modify(|_| ());
        }
    }

    /// Wakes up who waits for an end, once it is written down: only then may its files go.
    pub(super) fn wake(&self, id: &JobId) {
        if let Some(entry) = self.entries.get(id) {
            entry.ended.send_replace(true);
        }
    }

    /// Puts an end back that was there before somebody tried to begin it anew.
    pub(super) fn put_back(&mut self, id: &JobId, before: Entry) {
        if let Some(entry) = self.entries.get_mut(id) {
            (entry.note, entry.exit, entry.fault) = (before.note, before.exit, before.fault);
            entry.ended.send_replace(true);
        }
    }

    /// Begins it anew. Returns the note.
    pub(super) fn begin_again(&mut self, id: &JobId, now: i64) -> Option<JobNote> {
        let entry = self.entries.get_mut(id)?;
        (entry.exit, entry.fault, entry.is_dying) = (None, None, false);
        let note = &mut entry.note;
        note.told = Told::by_process(JobState::Working);
        (note.host, note.worker_pid, note.ended_at) = (None, None, None);
        (note.started_at, note.updated_at, note.stop_requested) = (now, now, false);
        entry.ended.send_replace(false);
        Some(entry.note.clone())
    }

    fn in_order(&self) -> impl Iterator<Item = &Entry> {
        let mut entries: Vec<&Entry> = self.entries.values().collect();
        entries.sort_by_key(|entry| (entry.record.created_at, &entry.record.id));
        entries.into_iter()
    }
}

/// What is known of an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// Its host has written it down.
    Told(ExitRecord),
    /// Its host has, and it cannot be read.
    Unreadable(Fault),
    /// Its host died before.
    Untold,
}

/// Says how a job ended: by its exit record, and without one by what is known all the same.
fn how_it_ended(end: &Ending, stop_requested: bool) -> Told {
    let untold = |status: Option<String>| {
        let state = if stop_requested { JobState::Stopped } else { JobState::Failed };
        Told { status, ..Told::by_process(state) }
    };
    let exit = match end {
        Ending::Told(exit) => exit,
        Ending::Unreadable(fault) => return untold(Some(fault.failure.message.clone())),
        Ending::Untold => {
            let died = || "its host died, and the program with it".to_owned();
            return untold((!stop_requested).then(died));
        }
    };
    if exit.stopped || stop_requested {
        return Told::by_process(JobState::Stopped);
    }
    let status = match (&exit.failure, exit.code, &exit.signal) {
        (Some(failure), ..) => Some(failure.message.clone()),
        (None, Some(0), _) => None,
        (None, Some(code), _) => Some(format!("exit code {code}")),
        (None, None, Some(signal)) => Some(format!("killed by {signal}")),
        (None, None, None) => Some("ended".to_owned()),
    };
    let is_done = exit.code == Some(0) && exit.failure.is_none();
    Told { status, ..Told::by_process(if is_done { JobState::Done } else { JobState::Failed }) }
}
