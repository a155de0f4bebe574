//! `stead attach`: a job in this terminal; a session gets the screen that the view has for it.
//!
//! What is said is said once the terminal is its owner's again. Not here: how a job is shown.

use std::{io, process::ExitCode};

use pty::{
    ask::Within,
    attach::{self, By, Chord, Options, Outcome, Terminal},
    hello::Role,
    job::{ExitRecord, JobFiles},
};
use rustix::process::{Signal, set_parent_process_death_signal};
use vocab::{
    ids::JobId,
    outcome::{Effect, Failure},
};

use crate::{
    args::Attach,
    env, exit, print,
    role::{
        jobs::{self, Shown},
        view,
    },
};

/// The word of this command.
pub(crate) const WORD: &str = "attach";

/// Shows a job until the person lets go of it, or it ends.
pub(crate) fn run(args: &Attach) -> anyhow::Result<ExitCode> {
    if let Some(parent) = args.parent {
        // A view that is killed takes what it shows along, or two programs would be left on one terminal. Killed
        // as well, since the shell has the terminal by then, and our guard gives it back without a question.
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from)?;
        if std::os::unix::process::parent_id() != parent {
            return Ok(ExitCode::from(exit::INTERRUPTED));
        }
    }
    let terminal = Terminal::open(rustix::stdio::stdin(), rustix::stdio::stdout())?;
    // It holds for as long as this client lives what is known now, and no secret of the job's.
    let guard = terminal.guard()?;
    let files = match jobs::shown(&args.job)? {
        Shown::Job(files) => files,
        Shown::Session(row) => return view::session(&row.id, &guard),
    };
    let record = files.read().map_err(Failure::from)?;
    let id = files.id();
    if env::is_agents() && !record.asked.by_agent && !args.read_only {
        // It guards against mistakes: whoever means to can talk to the host without us.
        let why = "only a person may type into this job, and the caller is a process of an agent";
        return Err(Failure::not_started("person_required", why)
            .with_hint("--read-only looks at it")
            .into());
    }
    let options = Options {
        role: if args.read_only { Role::View } else { Role::Attach },
        steal: args.steal,
        scrollback: args.scrollback.into(),
        detach: detach_keys(args.detach_keys.as_deref(), &record.command)?,
        terminal: env::terminal(),
    };
    if let Some(record) = files.read_exit().map_err(Failure::from)? {
        let why = format!("job {id} has ended: {}", how(&record));
        let hint =
            format!("stead logs {id} shows its last screen, stead respawn {id} starts it again");
        return Err(Failure::not_started("job_ended", why).with_hint(hint).into());
    }
    // Held for as long as it is shown here.
    let _within = within(&files)?;
    if args.read_only {
        // Above what the job shows, where it is still seen after the terminal was given back.
        print::err(&format!("read-only · {id} · nothing that you type reaches it\n"));
    }
    let outcome = match attach::run(files.socket(), &terminal, &guard, &options) {
        Err(failure) if failure.code == "host_gone" => Outcome::HostGone,
        other => other?,
    };
    Ok(ExitCode::from(tell(&files, outcome)?))
}

/// Says to a job's host that the job is shown in ours, where we are in one, for as long as what is returned is held.
///
/// # Errors
/// When that job shows ours.
pub(super) fn within(files: &JobFiles) -> Result<Option<Within>, Failure> {
    let within = env::within(files.socket())?;
    if within.as_ref().is_some_and(|within| !within.is_sure()) {
        let why = "not every job that shows this terminal has answered; two that show each other would never rest";
        print::err(&format!("stead: {why}\n"));
    }
    Ok(within)
}

/// Returns the keys that let go: those that a person has chosen, else those that the program can spare.
fn detach_keys(chosen: Option<&str>, command: &[String]) -> Result<Vec<Chord>, Failure> {
    if let Some(text) = chosen.map(str::to_owned).or_else(env::detach_keys) {
        let parsed = Chord::parse(&text);
        return match parsed {
            Ok(chord) => Ok(chord.into_iter().collect()),
            Err(bad) => Err(Failure::not_started("usage", bad.to_string())
                .with_hint("--detach-keys \"ctrl-] d\", \"ctrl-q\" or none")),
        };
    }
    // Nobody suspends an agent; in a shell Ctrl-Z is needed for the shell's own jobs.
    let suspend = arbiter::agent::of(command).map(|_| Chord::SUSPEND);
    Ok([Chord::USUAL].into_iter().chain(suspend).collect())
}

/// Says how it ended, and returns the exit code for it.
fn tell(files: &JobFiles, outcome: Outcome) -> Result<u8, Failure> {
    let id = files.id();
    let say = |text: &str| print::err(&format!("{text} · {id}\n"));
    match outcome {
        Outcome::Detached(By::Key | By::Request) => say("detached"),
        Outcome::Detached(By::Takeover) => say("taken over by another terminal"),
        Outcome::Ended(record) => tell_end(id, &record),
        // Closing a terminal is a way to let go, and leaves nobody to be told.
        Outcome::TerminalGone => {}
        Outcome::Interrupted => {
            say("detached");
            return Ok(exit::INTERRUPTED);
        }
        Outcome::HostGone => match files.read_exit()? {
            Some(record) => tell_end(id, &record),
            None => {
                let why = format!("the host of job {id} is gone and left no word of its end");
                return Err(Failure::new("host_gone", Effect::Indeterminate, why)
                    .with_hint(format!("its last screen: {}", files.screen().display())));
            }
        },
    }
    Ok(exit::OK)
}

fn tell_end(id: &JobId, record: &ExitRecord) {
    print::err(&format!("job ended · {id} · {}\n", how(record)));
}

/// Says how a job ended in a few words.
fn how(record: &ExitRecord) -> String {
    let what = match (&record.failure, &record.signal, record.code) {
        (Some(failure), ..) => format!("never began: {}", print::clean::clean(&failure.message)),
        (None, Some(signal), _) => signal.clone(),
        (None, None, Some(code)) => format!("exit code {code}"),
        (None, None, None) => "nobody knows how".to_owned(),
    };
    if record.stopped { format!("stopped, {what}") } else { what }
}
