//! Lists and long sessions: a database is prepared through the store, then a daemon is asked.

use std::path::Path;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use stdx::clock::Clock;
use store::{Batch, Change, NewSession, Options, Store};
use vocab::{
    fact::SessionFact,
    ids::{CallId, MessageId, SessionId},
    message::{CallState, Message, ModelRef, Part, Role},
    outcome::Outcome,
};

use super::{
    home::{Home, World},
    http::{Request, Wire},
    machine,
    report::Measure,
    stats::percentile,
};

const SESSIONS: usize = 100_000;
const MESSAGES: usize = 10_000;

/// Messages stored at once.
const BATCH: usize = 500;

/// Appends under way at once; they end up in one transaction.
const ABREAST: usize = 200;

const ASKED: usize = 300;
const OPENED: usize = 9;

/// Measures lists among many sessions and the opening of a long one.
pub(crate) fn lists(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    let home = Home::new(world, &[])?;
    machine::make_dir(&home.state())?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build()?;
    let filling = || runtime.block_on(fill(&home.state().join("stead.db"), &world.clock));
    let (ms, long) = world.ms(filling)?;
    let each = ms * 1_000.0 / 110_000.0;
    measure.note(format!("filled in {:.1} s, {each:.0} µs a session or message", ms / 1_000.0));
    let daemon = home.start()?;
    let mut wire = daemon.connect()?;
    listing(world, measure, &mut wire)?;
    let mut rounds = Vec::new();
    for _ in 0..21 {
        let mut command = home.stead(&["sessions", "list", "--limit", "50"]);
        rounds.push(world.ms(|| machine::output(&mut command))?.0);
    }
    measure.budgeted("stead sessions list --limit 50, spawn to exit", "ms", &rounds, 15.0);
    let path = format!("/sessions/{long}/messages");
    let (mut samples, mut body) = (Vec::new(), Vec::new());
    for idx in 0..=OPENED {
        let ms = world.ms(|| wire.ask(&Request::get(&path), &mut body))?.0;
        if idx > 0 {
            samples.push(ms);
        }
    }
    measure.budgeted("open a session of 10,000 messages", "ms", &samples, 50.0);
    let count = String::from_utf8_lossy(&body).matches("\"role\":").count();
    measure.note(format!("the opened session is {} KiB of {count} messages", body.len() >> 10));
    let memory = machine::memory(daemon.pid)?.pss >> 20;
    let peak = machine::status(daemon.pid, "VmHWM")? >> 20;
    measure.note(format!("the daemon afterwards: {memory} MiB PSS, VmHWM {peak} MiB"));
    Ok(())
}

fn listing(
    world: &World,
    measure: &mut Measure,
    wire: &mut Wire<std::os::unix::net::UnixStream>,
) -> anyhow::Result<()> {
    let mut body = Vec::new();
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for _ in 0..ASKED {
        first.push(world.ms(|| wire.ask(&Request::get("/sessions?limit=50"), &mut body))?.0);
    }
    let mut bytes = body.len();
    for _ in 0..ASKED {
        let page: serde_json::Value = serde_json::from_slice(&body)?;
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        let path = format!("/sessions?limit=50&cursor={}", api::routes::encode(cursor));
        later.push(world.ms(|| wire.ask(&Request::get(&path), &mut body))?.0);
        bytes = bytes.max(body.len());
    }
    measure.budgeted("first page, p50", "ms", &[percentile(&first, 50)], 5.0);
    measure.budgeted("first page, p99", "ms", &[percentile(&first, 99)], 5.0);
    measure.budgeted("the pages after it, p50", "ms", &[percentile(&later, 50)], 5.0);
    measure.budgeted("the pages after it, p99", "ms", &[percentile(&later, 99)], 5.0);
    measure.note(format!(
        "{ASKED} first and {} later pages, {} KiB at most",
        later.len(),
        bytes >> 10
    ));
    Ok(())
}

/// Fills a new database; returns the session with many messages.
async fn fill(path: &Path, clock: &Clock) -> anyhow::Result<SessionId> {
    let (store, _) = Store::open(&Options::new(path, clock.clone()))?;
    let mut waiting = FuturesUnordered::new();
    let long = SessionId::generate();
    let mut of_long = new_session(&store, &long, MESSAGES);
    for start in (0..MESSAGES).step_by(BATCH) {
        of_long.changes.extend((start..start + BATCH).map(|idx| Change::AddMessage(message(idx))));
        store.append(of_long).await?;
        of_long = Batch::of_session(store.epoch(), long.clone());
    }
    for idx in 0..SESSIONS {
        let id = SessionId::generate();
        let (user, fact) = (message(0), MessageId::generate());
        let batch = new_session(&store, &id, idx)
            .change(Change::AddMessage(user))
            .fact(SessionFact::MessageStored { message: fact });
        let store = store.clone();
        waiting.push(async move { store.append(batch).await });
        while waiting.len() >= ABREAST {
            waiting.next().await.transpose()?;
        }
    }
    while let Some(stored) = waiting.next().await {
        stored.map(drop)?;
    }
    store.close().await?;
    Ok(long)
}

fn new_session(store: &Store, id: &SessionId, idx: usize) -> Batch {
    let new = NewSession {
        title: format!("Find out why request {idx} is answered twice and mend it"),
        cwd: Some(format!("/home/somebody/source/project-{}", idx % 97)),
        model: ModelRef::parse("local/qwen3"),
        ..NewSession::default()
    };
    Batch::of_session(store.epoch(), id.clone())
        .change(Change::CreateSession(new))
        .fact(SessionFact::SessionCreated)
}

/// Returns a message: every second one is an answer with a tool call.
fn message(idx: usize) -> Message {
    let words = |n: usize| "the cause lies in the retry of the client; ".repeat(n);
    let answer = idx % 2 == 1;
    let mut parts = vec![Part::Text { text: words(if answer { 8 } else { 4 }), done: true }];
    if answer {
        let outcome = Outcome::text(words(12));
        parts.push(Part::Call {
            call: CallId(format!("call_{idx}")),
            tool: "bash".to_owned(),
            input: serde_json::json!({"command": "git log --oneline -n 20"}),
            block: None,
            state: CallState::Ended { outcome, ordinal: 0 },
        });
    }
    let role = if answer { Role::Assistant } else { Role::User };
    Message { id: MessageId::generate(), role, run: None, parts, created_at: 1_800_000_000_000 }
}
