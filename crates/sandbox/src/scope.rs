//! A scope owns every process that is started in it, until it ends. A run has one, a session may.
//!
//! After a call the scope looks for what the call left behind. The look is cheap where nothing suggests
//! a descendant: the output is closed, the call's group is empty and no orphan came to us that nobody
//! knows. Only otherwise are all processes read. That order matters: a group is known empty only after
//! its leader was waited for, since a zombie is still a member.
//!
//! If this process is killed, the programs it started directly die with the thread that waits for them
//! (the kernel does that); what those had started lives on until [`reap_leftovers`] finds its marker at
//! the next start.
//!
//! A descendant that clears its environment, leaves its group, loses its parent between two looks and
//! does not hold the call's output carries no trace. It comes to us as an orphan and belongs to the one
//! scope that gave birth, whose next look names it. Where several did, nobody can tell whose it is: it
//! is not named, and ends with the last of them. If this process has detached a child, an orphan without
//! a trace may be that child's, and is left alone. Confined backends close this gap.

mod call;
mod child;
mod error;

use std::{
    fmt, io,
    os::fd::OwnedFd,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use stdx::{clock::Clock, proc_id::Stat};
use vocab::limits;

pub use child::{Child, Stdio};
pub use error::RunError;

use crate::{
    Cancel, Plan, cgroup,
    drain::Drain,
    proc_fs::{self, Process},
    registry,
    report::{ExitReport, Killed, Survivor},
    tree::{self, Claim, Idle, Mark},
};

/// Owns the processes started in it. Dropping it kills them without grace; [`Scope::end`] is kinder.
pub struct Scope {
    mark: Mark,
    run: String,
    clock: Clock,
    since: u64,
    /// Out-of-memory kills in our control group when the scope opened, moved on by each one told.
    oom_kills: Mutex<Option<u64>>,
    ended: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Groups of calls that left something behind.
    groups: Vec<u32>,
    /// Processes seen to belong.
    known: Vec<(u32, u64)>,
    /// Children started to stay.
    children: Vec<std::sync::Arc<child::Inner>>,
    /// Direct children of calls in progress.
    roots: Vec<u32>,
    drain: Option<Drain>,
    /// Whether anything was started in it.
    gave_birth: bool,
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("run", &self.run).finish_non_exhaustive()
    }
}

impl Scope {
    /// Opens a scope. `run` marks its processes and must be unique among all scopes of the machine.
    #[must_use]
    pub fn open(run: &str) -> Self {
        Self::marked(Mark::Run, run)
    }

    /// Opens a scope for a job's program, which is started with [`Scope::launch_on_terminal`].
    #[must_use]
    pub fn open_job(job: &str) -> Self {
        Self::marked(Mark::Job, job)
    }

    /// Takes a job's program over, which the program that this process was before has started with
    /// [`Scope::launch_on_terminal`] and has not waited for.
    ///
    /// # Errors
    /// When it is no child of this process.
    pub fn adopt_job(job: &str, pid: u32) -> io::Result<(Self, Child)> {
        let program = Stat::of(pid).filter(|found| found.parent == std::process::id());
        let program = program.ok_or(io::ErrorKind::NotFound)?;
        // Whatever it has started is younger than it.
        let mut scope = Self::open_job(job);
        scope.since = program.started;
        let child = child::adopt(&scope, pid)?;
        Ok((scope, child))
    }

    fn marked(mark: Mark, run: &str) -> Self {
        Self {
            mark,
            run: run.to_owned(),
            clock: Clock::system(),
            since: proc_fs::ticks_now(),
            oom_kills: Mutex::new(cgroup::oom_kills()),
            ended: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    /// Returns what marks the scope's processes.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.run
    }

    /// Runs a plan to its end and hands its output to `sink` as it arrives. Blocks; callable from many
    /// threads at once.
    ///
    /// # Errors
    /// When nothing was started. Whatever happens afterwards is told by the report.
    pub fn run(
        &self,
        plan: &Plan,
        sink: &mut dyn FnMut(&[u8]),
        cancel: &Cancel,
    ) -> Result<ExitReport, RunError> {
        call::run(self, plan, sink, cancel)
    }

    /// Starts a plan that stays, with the given standard streams. Its timeout is not looked at.
    ///
    /// # Errors
    /// When nothing was started.
    pub fn launch(&self, plan: &Plan, stdio: &Stdio) -> Result<Child, RunError> {
        child::launch(Some(self), plan, stdio)
    }

    /// Starts a plan that stays, on a terminal: its streams, and what controls the session it leads. It
    /// is killed when the starting thread ends.
    ///
    /// # Errors
    /// When nothing was started.
    pub fn launch_on_terminal(&self, plan: &Plan, terminal: &OwnedFd) -> Result<Child, RunError> {
        child::launch_on_terminal(self, plan, terminal)
    }

    /// Asks every process of the scope to end, and does not wait until it has. Who wants to go on
    /// meanwhile calls this, and [`Scope::end`] without grace when time is over.
    pub fn ask_to_end(&self) {
        tree::ask(&self.claim().living());
    }

    /// Leaves what still lives to itself. For a job whose program has ended by itself: what it put in
    /// the background on purpose goes on.
    pub fn release(self) {
        if !self.ended.swap(true, Ordering::SeqCst) {
            registry::detach();
            if std::mem::take(&mut self.state().gave_birth) {
                registry::parent_went();
            }
        }
    }

    /// Tells whether a call is in progress or something lives that one left behind, as far as is known
    /// without a look at all processes.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        let state = self.state();
        let mut children = state.children.iter();
        !state.roots.is_empty()
            || children.any(|child| child.try_wait().is_none())
            || state.known.iter().any(|(pid, started)| proc_fs::is_alive(*pid, *started))
    }

    /// Returns the living processes of the scope.
    #[must_use]
    pub fn survivors(&self) -> Vec<Survivor> {
        let survivor = |process: Process| Survivor {
            pid: process.pid,
            command: proc_fs::command(process.pid),
        };
        self.claim()
            .living()
            .into_iter()
            .take(limits::CHILD_SURVIVORS_LISTED_MAX)
            .map(survivor)
            .collect()
    }

    /// Returns how much memory the living processes of the scope hold, what they share counted for each.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        let living = self.claim().living();
        living.iter().map(|process| proc_fs::resident_bytes(process.pid)).sum()
    }

    /// Ends every process of the scope and refuses new ones. Calls in progress see their child die.
    pub fn end(&self, grace: Duration) -> Vec<Killed> {
        if self.ended.swap(true, Ordering::SeqCst) {
            return Vec::new();
        }
        let mut find = || self.claim().living();
        let mut killed = tree::end(&mut find, grace, &self.clock, &mut Idle);
        // Looked at before this scope is closed: whoever gives birth later cannot have such an orphan, and
        // if nobody else has then, nobody is left whom it could belong to.
        let unclaimed = registry::unclaimed(self.since);
        let was_last = std::mem::take(&mut self.state().gave_birth) && registry::parent_went() == 0;
        if was_last && !unclaimed.is_empty() {
            let mut find =
                || unclaimed.iter().filter(|orphan| orphan.is_alive()).copied().collect();
            killed.extend(tree::end(&mut find, grace, &self.clock, &mut Idle));
        }
        let mut state = self.state();
        let (children, drain) = (std::mem::take(&mut state.children), state.drain.take());
        drop(state);
        for child in children {
            // Dead by now, so this reaps without waiting; one that is not is told in `killed`.
            child.try_wait();
        }
        drop(drain);
        killed
    }

    fn claim(&self) -> Claim {
        let state = self.state();
        let children = state.children.iter().filter_map(|child| child.waitable_pid());
        Claim {
            mark: self.mark,
            run: self.run.clone(),
            call: None,
            roots: state.roots.iter().copied().chain(children).collect(),
            groups: state.groups.clone(),
            known: state.known.clone(),
            since: self.since,
            output: None,
        }
    }

    /// Takes the first birth down; false once the scope has ended, which then starts nothing.
    fn gives_birth(&self) -> bool {
        let mut state = self.state();
        // Looked at under the lock: an end that comes later finds what is noted here.
        if self.ended.load(Ordering::SeqCst) {
            return false;
        }
        if !std::mem::replace(&mut state.gave_birth, true) {
            registry::parent_came();
        }
        true
    }

    /// Returns orphans without a trace that can be nobody else's and were not seen before.
    fn orphans(&self) -> Vec<Process> {
        let mut orphans = registry::unclaimed(self.since);
        let state = self.state();
        // Asked after the look, so that whoever gave birth before it counts.
        if !state.gave_birth || !registry::is_only_parent() {
            return Vec::new();
        }
        orphans.retain(|orphan| {
            let marks = proc_fs::marks(orphan.pid).unwrap_or_default();
            marks.run.is_none() && !state.known.contains(&(orphan.pid, orphan.started))
        });
        orphans
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is one push or one take, so a panic elsewhere leaves the state whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what a call left behind.
    fn adopt(&self, group: u32, left: &[Process]) {
        let mut state = self.state();
        state.known.retain(|(pid, started)| proc_fs::is_alive(*pid, *started));
        state.groups.retain(|group| !call::group_is_empty(*group));
        state.known.extend(left.iter().map(|process| (process.pid, process.started)));
        if left.iter().any(|process| process.group == group) {
            state.groups.push(group);
        }
    }

    /// Reads on where a call stopped, so that what it left running may go on writing.
    fn drain(&self, pipe: OwnedFd) -> io::Result<()> {
        let mut state = self.state();
        if state.drain.is_none() {
            state.drain = Some(Drain::start()?);
        }
        if let Some(drain) = &state.drain {
            drain.take(pipe);
        }
        Ok(())
    }

    /// Tells whether the kernel killed somebody of our group for want of memory since it was last asked.
    fn memory_ran_out(&self) -> bool {
        let mut seen = self.oom_kills.lock().unwrap_or_else(PoisonError::into_inner);
        let now = cgroup::oom_kills();
        let more = now > *seen;
        *seen = now;
        more
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Runs a short command in a scope of its own and keeps at most `bytes_max` of its output.
///
/// # Errors
/// When nothing was started.
pub fn capture(plan: &Plan, bytes_max: usize) -> Result<(ExitReport, Vec<u8>), RunError> {
    let scope = Scope::open(&format!("capture-{}-{}", std::process::id(), registry::next_call()));
    let cancel = Cancel::new().map_err(|source| RunError::Descriptors { source })?;
    let (mut kept, mut dropped) = (Vec::new(), 0u64);
    let mut sink = |bytes: &[u8]| {
        let room = bytes_max.saturating_sub(kept.len()).min(bytes.len());
        kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
        dropped = dropped.saturating_add(u64::try_from(bytes.len() - room).unwrap_or(u64::MAX));
    };
    let mut report = scope.run(plan, &mut sink, &cancel)?;
    report.discarded = report.discarded.saturating_add(dropped);
    Ok((report, kept))
}

/// Reaps the dead among the orphans that came to this process, for whoever hears that some child has died:
/// those of jobs are no call's, and a zombie looks alive to a program that waits for its pid to go.
pub fn reap_orphans() {
    registry::reap_orphans();
}

/// Starts a plan that answers to no scope and outlives this process, in a session of its own.
///
/// # Errors
/// When nothing was started.
pub fn launch_detached(plan: &Plan, stdio: &Stdio) -> Result<Child, RunError> {
    child::launch(None, plan, stdio)
}

/// Ends what an earlier process with these runs left behind: every process that carries one of their
/// markers. Called at start, before any scope is open, with the runs the store calls interrupted.
pub fn reap_leftovers(runs: &[String], grace: Duration) -> Vec<Killed> {
    reap(Mark::Run, runs, grace)
}

/// Ends what others left behind of runs whose names begin so, which must be no other living process's: whatever
/// carries such a marker, with all that belongs to the same runs, but for the caller's own, whose names begin
/// with `own`. Names tell them apart, since times of starts are too coarse for that.
pub fn reap_leftovers_of(prefix: &str, own: &str, grace: Duration) -> Vec<Killed> {
    let is_left = |run: &String| run.starts_with(prefix) && !run.starts_with(own);
    let marked = proc_fs::all().into_iter().filter_map(|found| proc_fs::marks(found.pid)?.run);
    let mut runs: Vec<String> = marked.filter(is_left).collect();
    runs.sort();
    runs.dedup();
    reap_leftovers(&runs, grace)
}

/// Ends what jobs left behind whose host was killed.
pub fn reap_leftover_jobs(jobs: &[String], grace: Duration) -> Vec<Killed> {
    reap(Mark::Job, jobs, grace)
}

fn reap(mark: Mark, runs: &[String], grace: Duration) -> Vec<Killed> {
    let mut find = || {
        let claims = runs.iter().map(|run| Claim { mark, run: run.clone(), ..Claim::default() });
        claims.flat_map(|claim| claim.living()).collect()
    };
    if runs.is_empty() {
        Vec::new()
    } else {
        tree::end(&mut find, grace, &Clock::system(), &mut Idle)
    }
}

#[cfg(test)]
mod tests;
