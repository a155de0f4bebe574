//! `bash`: a command line for the workspace's shell.

use std::{
    collections::hash_map::Entry,
    os::fd::AsFd,
    sync::{Arc, PoisonError},
    time::Duration,
};

use sandbox::{
    Cancel, Lifetime, Plan, Policy, RunError, Scope,
    report::{ExitReport, ExitStatus},
};
use serde_json::{Map, Value, json};
use vocab::{
    ids::RunId,
    limits::CHILD_TIMEOUT_MS_MAX,
    outcome::{Effect, Failure, Outcome},
    path::WorkspacePath,
    schema::{Property, Schema},
    tool::{Execution, Reach, ToolSpec},
};
use workspace::call::Progress;

use super::{Ended, Job, arguments};
use crate::{
    output::{Collected, Collector},
    site::{Programs, Site},
    stop::Stop,
    truncate::{self, Bounds, Cut},
};

pub(super) fn spec() -> ToolSpec {
    #[expect(
        clippy::cast_precision_loss,
        reason = "the bound is far below what a float counts exactly"
    )]
    let maximum = CHILD_TIMEOUT_MS_MAX as f64 / 1000.0;
    let timeout = Schema::Number {
        description: "Seconds after which the command and all it started are ended; the workspace's default when \
                      absent",
        minimum: 0.001,
        maximum,
    };
    ToolSpec {
        name: "bash",
        description: "Runs a command in the workspace's root and answers with what it wrote, standard output \
                      and errors together, the last 2000 lines or 50KB of it; the full output can be read \
                      by the name that the answer gives. There is no input. What the command leaves running \
                      ends with this run.",
        parameters: Schema::Object(vec![
            Property::required("command", Schema::Text { description: "The command line" }),
            Property::optional("timeout", timeout),
        ]),
        reach: Reach::Runs,
        execution: Execution::Parallel,
        prepare: |mut arguments| {
            arguments::rename(&mut arguments, &["cmd", "script"], "command");
            arguments
        },
    }
}

pub(super) fn run(job: Job) -> Ended {
    let Some(programs) = &job.site.programs else { return Err(not_granted()) };
    let arguments = &job.arguments;
    let mut line = arguments::text(arguments, "command").to_owned();
    if let Some(prefix) = &job.envelope.command_prefix {
        line = format!("{prefix}\n{line}");
    }
    let wanted = arguments.get("timeout").and_then(Value::as_f64).map(millis);
    let mut collector = Collector::new(job.site.artifacts.clone());
    let command = Command {
        line,
        run: Some(&job.run),
        timeout_ms: wanted.unwrap_or(programs.timeout_ms_default),
        cwd: &WorkspacePath::root_of(vocab::path::RootKind::Workspace),
    };
    let timeout_ms = command.timeout_ms.min(programs.timeout_ms_max);
    let mut sink = |bytes: &[u8]| {
        let text = collector.push(bytes);
        if !text.is_empty() {
            (job.progress)(Progress::Output(text));
        }
    };
    let report = execute(&job.site, &command, &mut sink, &job.stop)?;
    Ok(worded(&report, &collector.finish(), timeout_ms))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "validated to be in range"
)]
fn millis(seconds: f64) -> u64 {
    (seconds * 1000.0).ceil().max(1.0) as u64
}

/// Lets a command take no longer than its caller would wait.
pub(crate) fn bound_timeout(arguments: &mut Value, timeout_ms: u64) {
    let own = arguments.get("timeout").and_then(Value::as_f64).map(millis);
    let Some(map) = arguments.as_object_mut() else { return };
    if own.is_none_or(|own| own > timeout_ms) {
        #[expect(clippy::cast_precision_loss, reason = "a rounding of microseconds does no harm")]
        let seconds = timeout_ms as f64 / 1000.0;
        map.insert("timeout".into(), json!(seconds));
    }
}

/// What is to be run.
pub(crate) struct Command<'a> {
    pub(crate) line: String,
    /// The run that owns what it leaves behind; without one nothing is left.
    pub(crate) run: Option<&'a RunId>,
    pub(crate) timeout_ms: u64,
    pub(crate) cwd: &'a WorkspacePath,
}

pub(crate) fn not_granted() -> Failure {
    Failure::not_started("exec_not_granted", "this workspace runs no programs")
}

/// Runs a command to its end; its output goes to `sink` as it arrives.
///
/// # Errors
/// When nothing was started.
pub(crate) fn execute(
    site: &Site,
    command: &Command<'_>,
    sink: &mut dyn FnMut(&[u8]),
    stop: &Stop,
) -> Result<ExitReport, Failure> {
    let Some(programs) = &site.programs else { return Err(not_granted()) };
    let cancel = Cancel::new()
        .map_err(|error| Failure::not_started("too_many_open_files", error.to_string()))?;
    stop.attach(&cancel);
    stop.start()?;
    let dir = site.root.open_dir(command.cwd)?;
    let cwd = dir
        .as_fd()
        .try_clone_to_owned()
        .map_err(|error| Failure::not_started("too_many_open_files", error.to_string()))?;
    let mut environment = programs.environment.clone();
    let mut lifetime = Lifetime::Call;
    if let Some(run) = command.run {
        environment = environment.with_run(run.as_str());
        lifetime = Lifetime::Run;
    }
    let policy = Policy::new(programs.shell.clone(), cwd, environment)
        .args(["-c", &command.line])
        .lifetime(lifetime)
        .timeout(Duration::from_millis(command.timeout_ms.clamp(1, programs.timeout_ms_max)));
    let plan = Plan::realize(policy, &programs.host)
        .map_err(|error| Failure::not_started(error.code(), error.to_string()))?;
    let passing = RunId::generate();
    let scope = scope_of(programs, command.run.unwrap_or(&passing))?;
    let ended = scope.run(&plan, sink, &cancel).map_err(|error| {
        if matches!(error, RunError::Cancelled) {
            return stop.failure(Effect::NotStarted);
        }
        error.into()
    });
    if command.run.is_none() {
        programs.scopes.lock().unwrap_or_else(PoisonError::into_inner).open.remove(&passing);
    }
    ended
}

/// Returns the scope of a run. A command that belongs to none has a passing one, so that closing the
/// workspace reaches it too.
fn scope_of(programs: &Programs, run: &RunId) -> Result<Arc<Scope>, Failure> {
    let mut scopes = programs.scopes.lock().unwrap_or_else(PoisonError::into_inner);
    if scopes.closed {
        return Err(Failure::not_started("workspace_closed", "the workspace is closed"));
    }
    Ok(match scopes.open.entry(run.clone()) {
        Entry::Occupied(known) => Arc::clone(known.get()),
        Entry::Vacant(new) => Arc::clone(new.insert(Arc::new(Scope::open(run.as_str())))),
    })
}

fn worded(report: &ExitReport, collected: &Collected, timeout_ms: u64) -> Outcome {
    let mut parts = Vec::new();
    let shown = if collected.text.is_empty() { "(no output)" } else { &collected.text };
    parts.push(shown.to_owned());
    parts.extend(cut_notice(collected));
    let failure = failure_of(report, timeout_ms);
    parts.extend(failure.as_ref().map(|failure| failure.message.clone()));
    if !report.survivors.is_empty() {
        let names: Vec<String> = report
            .survivors
            .iter()
            .map(|survivor| format!("{} {}", survivor.pid, survivor.command))
            .collect();
        parts.push(format!(
            "[Still running: {}. They end with this run; to start a program that lasts use: stead bg -- \
             COMMAND]",
            names.join("; ")
        ));
    }
    let mut outcome = Outcome::text(parts.join("\n\n")).with_details(details(report, collected));
    outcome.failure = failure;
    outcome
}

fn cut_notice(collected: &Collected) -> Option<String> {
    let facts = &collected.truncation;
    let by = facts.by?;
    let total = facts.total_lines;
    let from = total - facts.output_lines + 1;
    let whole = match &collected.artifact {
        Some(name) if collected.dropped > 0 => format!("The first part of the output: {name}"),
        Some(name) => format!("Full output: {name}"),
        None => "The full output could not be kept".to_owned(),
    };
    let limit = truncate::size(Bounds::TOOL.bytes as u64);
    Some(if facts.last_line_partial {
        let line = truncate::size(collected.last_line_bytes);
        format!("[The last {limit} of line {total}, which is {line}. {whole}]")
    } else if by == Cut::Lines {
        format!("[Lines {from}-{total} of {total}. {whole}]")
    } else {
        format!("[Lines {from}-{total} of {total} ({limit} limit). {whole}]")
    })
}

fn failure_of(report: &ExitReport, timeout_ms: u64) -> Option<Failure> {
    let (code, effect, message) = match report.status {
        ExitStatus::Exited(0) => return None,
        ExitStatus::Exited(code) => {
            ("exit_nonzero", Effect::Completed, format!("Command exited with code {code}"))
        }
        ExitStatus::Signaled { name, number } => (
            "killed_by_signal",
            Effect::Indeterminate,
            format!("Command was killed by {name} (signal {number})"),
        ),
        ExitStatus::TimedOut => {
            let whole = timeout_ms.is_multiple_of(1000);
            let time =
                if whole { format!("{} s", timeout_ms / 1000) } else { format!("{timeout_ms} ms") };
            (
                "timeout",
                Effect::Indeterminate,
                format!("Command was ended after {time}, its timeout"),
            )
        }
        ExitStatus::Cancelled => {
            ("aborted", Effect::Indeterminate, "Command was cancelled and ended".to_owned())
        }
        ExitStatus::OutOfMemory => (
            "out_of_memory",
            Effect::Indeterminate,
            "Command or something it started was killed for want of memory".to_owned(),
        ),
    };
    Some(Failure::new(code, effect, message))
}

fn details(report: &ExitReport, collected: &Collected) -> Value {
    let mut details = Map::new();
    let (exit_code, signal) = match report.status {
        ExitStatus::Exited(code) => (Some(code), None),
        ExitStatus::Signaled { name, .. } => (None, Some(name)),
        ExitStatus::TimedOut | ExitStatus::Cancelled | ExitStatus::OutOfMemory => (None, None),
    };
    let duration_ms = u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX);
    let survivors: Vec<Value> = report
        .survivors
        .iter()
        .map(|survivor| json!({ "pid": survivor.pid, "command": survivor.command }))
        .collect();
    details.insert("exit_code".into(), json!(exit_code));
    details.insert("signal".into(), json!(signal));
    details.insert("duration_ms".into(), json!(duration_ms));
    details.insert("survivors".into(), Value::Array(survivors));
    if collected.truncation.cut() {
        details.insert("truncation".into(), collected.truncation.to_json());
        details.insert("fullOutputPath".into(), json!(collected.artifact));
        if collected.dropped > 0 {
            details.insert("fullOutputDropped".into(), json!(collected.dropped));
        }
    }
    Value::Object(details)
}
