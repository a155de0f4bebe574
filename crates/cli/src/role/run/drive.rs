//! One run from its request to its end: the stream, Ctrl-C, questions.
//!
//! `stead run` and `stead demo` both drive a run; what they print around it is theirs.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    time::Duration,
};

use api::{
    agent::{AbortRequest, Done, RunRequest},
    client::{Client, Target},
    routes::Endpoint,
    session::SessionDetail,
};
use serde_json::Value;
use stdx::clock::Clock;
use tokio::signal::unix::{Signal, SignalKind, signal};
use vocab::{
    message::{Block, Mode, RunState, Usage},
    outcome::{Effect, Failure},
};

use super::{
    ask::Said,
    follow::{Begin, Follower, Told},
    show::Show,
};
use crate::print::{self, words};

/// How a run ended, or where it was left.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ended {
    /// The session.
    pub(crate) session: String,
    /// Where the run stands.
    pub(crate) state: RunState,
    /// Its tokens.
    pub(crate) usage: Usage,
    /// The text of the last tool result.
    pub(crate) last_output: String,
}

/// Drives a run.
pub(crate) struct Driver<'a> {
    client: &'a Client,
    show: Show,
    interactive: bool,
    clock: Clock,
    started: Duration,
    interrupts: u32,
    last_output: String,
    /// The calls that were refused because nobody could be asked.
    unasked: BTreeSet<String>,
}

/// Keys of providers, for an answer as for a request.
type Keys = BTreeMap<String, api::secret::Key>;

fn interrupts() -> Result<Signal, Failure> {
    signal(SignalKind::interrupt())
        .map_err(|error| Failure::not_started("failed", format!("Ctrl-C cannot be heard: {error}")))
}

/// Tells whether a question waits for its answer.
fn open(block: &Block) -> bool {
    block.answer.is_none()
}

/// What a wait brought.
enum Heard {
    Told(Told),
    Interrupt,
}

impl<'a> Driver<'a> {
    /// Builds a driver.
    pub(crate) fn new(client: &'a Client, show: Show, interactive: bool) -> Self {
        let clock = Clock::system();
        let started = clock.monotonic();
        Self {
            client,
            show,
            interactive,
            clock,
            started,
            interrupts: 0,
            last_output: String::new(),
            unasked: BTreeSet::new(),
        }
    }

    /// Sends the request and follows the run until it ends, parks with nobody to ask, or is left.
    ///
    /// # Errors
    /// When it cannot begin, or its stream is lost.
    pub(crate) async fn run(&mut self, request: &RunRequest) -> Result<Ended, Failure> {
        let mut interrupt = interrupts()?;
        let begin = Begin { client: self.client, request };
        let mut follower = Follower::new(&begin, None);
        self.until_end(&mut follower, &request.keys, &mut interrupt).await
    }

    /// Answers what a parked run waits for, with one answer to all of it or after asking, and follows it.
    ///
    /// # Errors
    /// When an answer cannot be stored, or the stream is lost.
    pub(crate) async fn answer(
        &mut self,
        session: &str,
        given: Option<&Said>,
        keys: &Keys,
    ) -> Result<Ended, Failure> {
        let mut interrupt = interrupts()?;
        let client = self.client;
        let mut follower = Follower::new(client, Some(session));
        // What was told before the question was told to somebody; only what comes is shown.
        self.show.catch_up(true);
        let (state, usage) = self.follow(&mut follower, &mut interrupt).await?;
        self.show.catch_up(false);
        let answered = match &state {
            RunState::Parked { blocks } => match (given, blocks.last()) {
                (Some(said), _) if blocks.iter().any(open) => {
                    self.say_all(session, blocks, said, keys).await?
                }
                // All was answered, and the run did not go on: the last answer again lets it.
                (_, Some(Block { id, answer: Some(answer), .. })) if !blocks.iter().any(open) => {
                    self.say(session, id, answer.clone(), keys).await?;
                    true
                }
                _ => self.ask_all(session, blocks, keys, &mut interrupt).await?,
            },
            RunState::Running | RunState::Ended(_) => {
                print::err("stead: nothing waits for an answer any more\n");
                false
            }
        };
        if answered {
            follower.go_on();
            return self.until_end(&mut follower, keys, &mut interrupt).await;
        }
        Ok(self.ended(&follower, state, usage))
    }

    async fn until_end(
        &mut self,
        follower: &mut Follower<'_>,
        keys: &Keys,
        interrupt: &mut Signal,
    ) -> Result<Ended, Failure> {
        loop {
            let (state, usage) = self.follow(follower, interrupt).await?;
            self.show.close().map_err(|error| broken_output(&error))?;
            if let RunState::Parked { blocks } = &state
                && self.interactive
                && self.interrupts == 0
                && blocks.iter().any(open)
                && self.ask_all(follower.session(), blocks, keys, interrupt).await?
            {
                follower.go_on();
                continue;
            }
            return Ok(self.ended(follower, state, usage));
        }
    }

    fn ended(&mut self, follower: &Follower<'_>, state: RunState, usage: Usage) -> Ended {
        let last_output = std::mem::take(&mut self.last_output);
        Ended { session: follower.session().to_owned(), state, usage, last_output }
    }

    async fn follow(
        &mut self,
        follower: &mut Follower<'_>,
        interrupt: &mut Signal,
    ) -> Result<(RunState, Usage), Failure> {
        let followed = self.listen(follower, interrupt).await;
        if followed.is_err() {
            // What is said of the failure begins a line of its own.
            self.show.close().ok();
        }
        followed
    }

    async fn listen(
        &mut self,
        follower: &mut Follower<'_>,
        interrupt: &mut Signal,
    ) -> Result<(RunState, Usage), Failure> {
        let mut finish = None;
        loop {
            let heard = tokio::select! {
                told = follower.next() => Heard::Told(told?),
                _ = interrupt.recv() => Heard::Interrupt,
            };
            let told = match heard {
                Heard::Interrupt => {
                    self.interrupted(follower.session())?;
                    continue;
                }
                Heard::Told(told) => told,
            };
            let shown = self.show.told(&told, self.clock.monotonic());
            if let Err(error) = shown {
                return Err(self.nobody_reads(&error, follower.session()).await);
            }
            match told {
                Told::Chunk(chunk) => {
                    self.remember(&chunk);
                    finish = end_of(&chunk).or(finish);
                }
                Told::Session(_) => {}
                Told::Done | Told::Gone => {
                    return match finish {
                        Some(end) => Ok(end),
                        None => self.ask_daemon(follower.session()).await,
                    };
                }
            }
        }
    }

    /// The first Ctrl-C stops the run and waits for its end, the second leaves it.
    fn interrupted(&mut self, session: &str) -> Result<(), Failure> {
        self.interrupts += 1;
        if session.is_empty() {
            let why = "left before the run had begun";
            return Err(Failure::new("interrupted", Effect::Indeterminate, why)
                .with_hint("look whether it began: stead sessions list"));
        }
        if self.interrupts > 1 {
            let short = words::short_id(session);
            let failure = Failure::new(
                "interrupted",
                Effect::Indeterminate,
                "left while the run was being stopped",
            );
            return Err(failure.with_hint(format!(
                "go on: stead run -s {short} \"…\"\nlook: stead sessions show {short}"
            )));
        }
        self.show.notice("stead: stopping; Ctrl-C once more leaves it");
        let (client, session) = (self.client.clone(), session.to_owned());
        // The stream tells the end; an abort that fails leaves the second Ctrl-C.
        tokio::spawn(async move { abort(&client, &session).await });
        Ok(())
    }

    /// Stops a run that nobody reads any more, as a closed pipe stops a program.
    async fn nobody_reads(&self, error: &io::Error, session: &str) -> Failure {
        abort(self.client, session).await;
        broken_output(error)
    }

    fn remember(&mut self, chunk: &Value) {
        let data = |name: &str| chunk.pointer(&format!("/data/{name}")).and_then(Value::as_str);
        if data("code") == Some("approval_required") {
            self.unasked.extend(data("callId").map(str::to_owned));
        }
        if chunk.get("type").and_then(Value::as_str) != Some("tool-output-available") {
            return;
        }
        let blocks = chunk.pointer("/output/content").and_then(Value::as_array);
        let texts = blocks.into_iter().flatten().filter_map(|block| block.get("text")?.as_str());
        self.last_output = texts.collect::<Vec<_>>().join("\n");
    }

    /// Asks how a run stands whose stream did not tell.
    async fn ask_daemon(&mut self, session: &str) -> Result<(RunState, Usage), Failure> {
        self.show.close().map_err(|error| broken_output(&error))?;
        let detail = self.detail(session).await?;
        let run = detail.run.ok_or_else(|| {
            Failure::new("no_live_run", Effect::Indeterminate, "the session has no run")
        })?;
        print::err(&format!(
            "stead: the run ended while the connection was away; all of it: stead sessions show {}\n",
            words::short_id(session)
        ));
        Ok((run.state, detail.row.usage))
    }

    async fn detail(&self, session: &str) -> Result<SessionDetail, Failure> {
        let target = Target::of(session);
        Ok(self.client.json::<(), _>(Endpoint::SessionShow, target, None).await?)
    }

    /// Prints the last line: model, tokens, duration, and how to go on. Before it, what a person might
    /// have allowed.
    pub(crate) async fn closing_line(&mut self, ended: &Ended) {
        if self.show.is_json() {
            // Whoever closed the pipe before the last line has seen enough.
            self.show.end(ended).ok();
            return;
        }
        if let Some(line) = unasked_line(self.unasked.len()) {
            print::err(&line);
        }
        let short = words::short_id(&ended.session);
        let mut facts = Vec::new();
        if let Ok(detail) = self.detail(&ended.session).await {
            facts.extend(detail.row.model);
            if detail.row.mode != Mode::default() {
                facts.push(format!("mode {}", detail.row.mode));
            }
        }
        facts.push(format!("{} tokens", words::count(ended.usage.total())));
        facts.push(words::took(self.clock.monotonic().saturating_sub(self.started)));
        facts.push(format!("go on: stead run -s {short} \"…\""));
        let look = self.show.look();
        let gap = if look.err.terminal { "\n" } else { "" };
        let line = print::clean::clean_line(&facts.join(" · "));
        print::err(&format!("{gap}{}\n", look.err.style.dim(&line)));
    }
}

/// Says how many calls were refused for want of somebody to ask.
fn unasked_line(n_calls: usize) -> Option<String> {
    let (calls, them) = match n_calls {
        0 => return None,
        1 => ("1 call was".to_owned(), "it"),
        n => (format!("{n} calls were"), "them"),
    };
    Some(format!(
        "stead: {calls} refused, since nobody could be asked; --mode auto allows {them}\n"
    ))
}

/// Stops a run. One that cannot be stopped is found at work, or waiting, by whoever looks next.
async fn abort(client: &Client, session: &str) {
    let request = AbortRequest { session_id: session.to_owned() };
    client.json::<_, Done>(Endpoint::AgentAbort, Target::default(), Some(&request)).await.ok();
}

/// A closed pipe is no failure of ours and needs no word; `output_closed` says so to the caller.
fn broken_output(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::new(OUTPUT_CLOSED, Effect::Completed, "nobody reads any more");
    }
    Failure::new("failed", Effect::Completed, format!("standard output cannot be written: {error}"))
}

/// The code of a run that was stopped because its reader went away.
pub(crate) const OUTPUT_CLOSED: &str = "output_closed";

/// Reads how the run stands out of a finish.
fn end_of(chunk: &Value) -> Option<(RunState, Usage)> {
    let metadata = chunk.get("messageMetadata")?;
    let state = serde_json::from_value(metadata.get("run")?.clone()).ok()?;
    let usage = metadata.get("usage").cloned().map(serde_json::from_value).and_then(Result::ok);
    Some((state, usage.unwrap_or_default()))
}

mod asking;
#[cfg(test)]
mod tests;
