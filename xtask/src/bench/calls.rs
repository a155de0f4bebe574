//! What a tool call costs beside the floor: the same requests to the same server and the same child,
//! without a host around them.

use anyhow::{Context as _, bail};
use serde_json::json;
use testkit::model_server::{ModelServer, Plan};

use super::{
    home::{Daemon, Home, MODEL, ModelProcess, World, text},
    http::{Request, Wire},
    machine,
    report::Measure,
    stats::ratios,
};

/// Calls of a run.
pub(crate) const CALLS: usize = 100;

/// Pairs of a run and a floor, besides the first, which does not count.
const PAIRS: usize = 7;

/// The dialects: their names, and what their base URLs end with.
pub(crate) const DIALECTS: &[(&str, &str)] = &[("openai-chat", "/v1"), ("anthropic", "")];

/// What a run may cost beside the floor.
const RATIO_MAX: f64 = 1.5;

/// Headers that belong to a connection and not to a request.
const OWN_HEADERS: &[&str] = &["host", "content-length", "transfer-encoding", "connection"];

/// A request as the daemon sent it.
struct Turn {
    path: String,
    headers: String,
    body: Vec<u8>,
}

/// Measures runs of calls beside the floor.
pub(crate) fn overhead(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    let model = ModelProcess::instant(world, CALLS)?;
    for (dialect, suffix) in DIALECTS {
        if let Err(error) = pairs(world, measure, (dialect, suffix), &model.url) {
            measure.not_run(format!("{dialect}: {error:#}"));
        }
    }
    Ok(())
}

fn pairs(
    world: &World,
    measure: &mut Measure,
    (dialect, suffix): (&str, &str),
    url: &str,
) -> anyhow::Result<()> {
    let recorder = ModelServer::start(Plan::instant(CALLS))?;
    let base = format!("{url}{suffix}");
    let recorded = format!("{}{suffix}", recorder.base_url());
    let providers = [("model", dialect, base.as_str()), ("recorder", dialect, recorded.as_str())];
    let home = Home::new(world, &providers)?;
    let daemon = home.start()?;
    run(&daemon, &home, "recorder")?;
    let turns = turns(&recorder)?;
    drop(recorder);
    let mut wire = Wire::tcp(url.trim_start_matches("http://"))?;
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for idx in 0..=PAIRS {
        let bare = world.ms(|| play(&mut wire, &turns))?.0;
        let host = world.ms(|| run(&daemon, &home, "model"))?.0;
        if idx > 0 {
            floor.push(per_call(bare));
            ours.push(per_call(host));
        }
    }
    measure.figure(format!("{dialect}: stead, per call"), "ms", &ours);
    measure.figure(format!("{dialect}: floor, per call"), "ms", &floor);
    let ratios = ratios(&ours, &floor);
    measure.budgeted(format!("{dialect}: stead / floor, pair by pair"), "×", &ratios, RATIO_MAX);
    let bytes: usize = turns.iter().map(|turn| turn.body.len()).sum();
    let last = turns.last().map_or(0, |turn| turn.body.len());
    measure.note(format!(
        "{dialect}: {} requests of {} KiB in all, the last one {} KiB",
        turns.len(),
        bytes >> 10,
        last >> 10
    ));
    Ok(())
}

fn per_call(ms: f64) -> f64 {
    ms / f64::from(u32::try_from(CALLS).unwrap_or(u32::MAX))
}

/// Returns the requests that a run led to.
fn turns(recorder: &ModelServer) -> anyhow::Result<Vec<Turn>> {
    let mut turns = Vec::new();
    for request in recorder.requests() {
        let kept = request.headers.iter().filter(|(name, _)| !OWN_HEADERS.contains(&name.as_str()));
        let headers = kept.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let body = serde_json::to_vec(&request.body)?;
        turns.push(Turn { path: request.path, headers, body });
    }
    if turns.len() == CALLS + 1 {
        return Ok(turns);
    }
    bail!("a run of {CALLS} calls asked the model {} times", turns.len())
}

/// Plays the requests over one connection, and a child after each but the last.
fn play(wire: &mut Wire<std::net::TcpStream>, turns: &[Turn]) -> anyhow::Result<()> {
    let mut answer = Vec::new();
    for (idx, Turn { path, headers, body }) in turns.iter().enumerate() {
        wire.ask(&Request { method: "POST", path, headers, body }, &mut answer)?;
        if idx < CALLS {
            machine::bash_true()?;
        }
    }
    Ok(())
}

/// Runs a prompt to its end and checks that every call ended well.
pub(crate) fn run(daemon: &Daemon, home: &Home, provider: &str) -> anyhow::Result<()> {
    let body = json!({
        "messages": [{"role": "user", "content": "go"}],
        "provider_id": provider, "model_id": MODEL, "cwd": text(&home.work()), "mode": "auto",
        "keys": {provider: "none"},
    });
    let body = serde_json::to_vec(&body)?;
    let mut answer = Vec::new();
    daemon.connect()?.ask(&Request::json("/agent/run", &body), &mut answer)?;
    let told = String::from_utf8(answer).context("the run stream")?;
    let well = told.matches(r#""type":"tool-output-available""#).count();
    if well == CALLS && told.trim_end().ends_with("[DONE]") {
        return Ok(());
    }
    let wrong = |line: &&str| line.contains("-error\"") || line.contains("\"error");
    let first = told.lines().find(wrong).unwrap_or("no error was told");
    bail!("{well} of {CALLS} calls ended well: {first}")
}
