//! Tools without a daemon around them: a workspace is opened in this program and asked directly.

use std::{process::ExitCode, sync::Arc};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use vocab::ids::{CallId, RunId};
use workspace::{
    call::{Call, CallContext, Envelope},
    source::Workspace,
};
use workspace_local::{LocalWorkspace, Options};

use super::{
    home::{World, text},
    machine,
    report::Measure,
    stats::{Summary, ratios},
    tree,
};
use crate::output;

/// Pairs of a search of ours and one of the peer's, besides the first, which does not count.
const PAIRS: usize = 9;

const READS: usize = 200;

/// Is the process that [`grep`] measures: opens a workspace, searches, prints, ends.
pub(crate) fn child(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let [root, artifacts, pattern] = arguments else { bail!("--tool ROOT ARTIFACTS PATTERN") };
    let found = runtime()?.block_on(async {
        let owned = LocalWorkspace::open(Options::new(root, artifacts))?;
        let found = call(&owned.borrow(), "grep", json!({"pattern": pattern})).await;
        owned.close().await;
        found
    })?;
    output::line(&found);
    Ok(ExitCode::SUCCESS)
}

/// Measures searches beside ripgrep.
pub(crate) fn grep(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    let peer = machine::output(machine::command("rg").arg("--version"));
    let peer = peer.context("ripgrep is the peer; ./dev bench installs it")?;
    let (root, artifacts) = (world.dir()?, world.dir()?);
    let bytes = tree::write(&root)?;
    let peer = String::from_utf8_lossy(&peer);
    let peer = peer.lines().next().unwrap_or_default().to_owned();
    measure.note(format!("{} files, {} MiB, {peer}", tree::FILES, bytes >> 20));
    let own = std::env::current_exe()?;
    for (name, pattern) in tree::PATTERNS {
        let mut search = machine::command(&own);
        search.args(["bench", "--tool", &text(&root), &text(&artifacts), pattern]);
        let mut rg = machine::command("rg");
        rg.args(["-n", "--no-heading", "--color=never", "--hidden", pattern]).current_dir(&root);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut found = (0, 0);
        for idx in 0..=PAIRS {
            let (tool_ms, tool) = world.ms(|| machine::output(&mut search))?;
            let (rg_ms, rg) = world.ms(|| machine::output(&mut rg))?;
            found = (matches(&tool), matches(&rg));
            if idx > 0 {
                ours.push(tool_ms);
                theirs.push(rg_ms);
            }
        }
        measure.figure(format!("{name}: the tool"), "ms", &ours);
        measure.figure(format!("{name}: rg"), "ms", &theirs);
        let ratio = ratios(&ours, &theirs);
        measure.budgeted(format!("{name}: the tool / rg, pair by pair"), "×", &ratio, 1.1);
        if found.0 == found.1 {
            measure.note(format!("{name}: both found {} lines", found.0));
        } else {
            measure.note(format!("{name}: THE ANSWERS DIFFER, {} lines and {}", found.0, found.1));
        }
    }
    inside(world, measure, (&text(&root), &text(&artifacts)))
}

/// Measures the search alone, as a daemon pays it.
fn inside(world: &World, measure: &mut Measure, at: (&str, &str)) -> anyhow::Result<()> {
    let Some((name, pattern)) = tree::PATTERNS.first() else { return Ok(()) };
    let runtime = runtime()?;
    let owned = LocalWorkspace::open(Options::new(at.0, at.1))?;
    let workspace = owned.borrow();
    let mut samples = Vec::new();
    for idx in 0..=PAIRS {
        let arguments = json!({"pattern": pattern});
        let ms = world.ms(|| runtime.block_on(call(&workspace, "grep", arguments)))?.0;
        if idx > 0 {
            samples.push(ms);
        }
    }
    measure.figure(format!("{name}: the tool, inside an open workspace"), "ms", &samples);
    runtime.block_on(owned.close());
    Ok(())
}

/// Counts lines `path:number:…`.
fn matches(printed: &[u8]) -> usize {
    let is_match = |line: &&str| {
        let number = line.split(':').nth(1).unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    String::from_utf8_lossy(printed).lines().filter(is_match).count()
}

/// Measures reading through the tool.
pub(crate) fn read(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    let (root, artifacts) = (world.dir()?, world.dir()?);
    let content: String = (0..2_000).map(|line| format!("{line:>6} words of a line\n")).collect();
    machine::write(&root.join("lines.txt"), content.as_bytes())?;
    let runtime = runtime()?;
    let owned = LocalWorkspace::open(Options::new(&root, &artifacts))?;
    let workspace = owned.borrow();
    let mut samples = Vec::new();
    let mut lines = 0;
    for _ in 0..READS {
        let arguments = json!({"path": "lines.txt"});
        let (ms, answer) = world.ms(|| runtime.block_on(call(&workspace, "read", arguments)))?;
        lines = answer.lines().count();
        samples.push(ms * 1_000.0);
    }
    measure.figure("read, 2,000 lines", "µs", &samples);
    let Summary { median, .. } = Summary::of(&samples);
    let mib = f64::from(u32::try_from(content.len())?) / 1_048_576.0;
    measure.figure("that is", "MiB/s", &[mib / median * 1_000_000.0]);
    measure.note(format!("{lines} lines answered"));
    runtime.block_on(owned.close());
    Ok(())
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_time().build()?)
}

/// Calls a tool as an agent would and returns its words.
async fn call(
    workspace: &Arc<dyn Workspace>,
    tool: &str,
    arguments: Value,
) -> anyhow::Result<String> {
    let catalog = workspace.catalog();
    let spec = catalog.find(tool).with_context(|| format!("no tool {tool}"))?;
    let call = Call {
        id: CallId("bench".to_owned()),
        run: RunId::generate(),
        tool: tool.to_owned(),
        arguments: spec.prepare(arguments),
        expected_generation: catalog.generation,
        schema_hash: spec.schema_hash(),
        timeout_ms: None,
        idempotency_key: None,
        envelope: Envelope::default(),
    };
    let outcome = workspace.call(call, CallContext::detached()).await;
    match &outcome.failure {
        Some(failure) => bail!("{tool}: {}: {}", failure.code, failure.message),
        None => Ok(outcome.plain_text()),
    }
}
