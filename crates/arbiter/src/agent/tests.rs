//! Commands as people and package managers write them.

use super::*;

#[track_caller]
fn check(line: &str, expected: Option<&str>) {
    let words: Vec<String> = line.split(' ').map(|word| word.replace('~', " ")).collect();
    assert_eq!(of(&words).map(|agent| agent.name), expected, "{line}");
}

#[test]
fn an_agent_is_known_by_its_command() {
    for (line, expected) in [
        ("claude", Some("claude")),
        ("claude --resume x", Some("claude")),
        ("/opt/bin/codex exec", Some("codex")),
        ("./node_modules/.bin/gemini", Some("gemini")),
        ("cursor-agent", Some("cursor")),
        ("claude.exe", Some("claude")),
        ("bash", None),
        ("vim claude", None),
        ("echo codex", None),
        ("pip install pi", None),
        ("raspberry-pi", None),
        ("", None),
    ] {
        check(line, expected);
    }
    assert_eq!(of(&[]), None);
}

#[test]
fn an_agent_is_known_behind_its_wrappers() {
    for (line, expected) in [
        ("env FOO=1 -u BAR claude", Some("claude")),
        ("env -i PATH=/bin nice -n 5 pi --model m", Some("pi")),
        ("timeout -k 5 10 opencode", Some("opencode")),
        ("nohup setsid codex", Some("codex")),
        ("npx -y @anthropic-ai/claude-code@2.1 --continue", Some("claude")),
        ("npx opencode-ai@latest", Some("opencode")),
        ("npx cowsay claude", None),
        ("bunx @google/gemini-cli", Some("gemini")),
        ("pnpm dlx @openai/codex", Some("codex")),
        ("npm exec -- @openai/codex", Some("codex")),
        ("npm install @openai/codex", None),
        ("uvx kimi-cli", Some("kimi")),
        ("uv tool run aider-chat", Some("aider")),
        ("python3.11 -m aider --yes", Some("aider")),
        ("python3 -m http.server", None),
        ("node /usr/lib/node_modules/@mariozechner/pi-coding-agent/dist/cli.js", Some("pi")),
        (
            "node --max-old-space-size=400 /x/node_modules/@google/gemini-cli/bundle/gemini.js",
            Some("gemini"),
        ),
        ("node /x/node_modules/@google/gemini-cli-core/index.js", None),
        ("/x/node_modules/@anthropic-ai/claude-code/cli.js", Some("claude")),
        ("node claude.mjs", Some("claude")),
        ("node server.js", None),
        ("bash -lc exec~claude~--resume", Some("claude")),
        ("sh -c FOO=1~codex~'x'", Some("codex")),
        ("sh -c cd~/x;~claude", None),
        ("sh script.sh", None),
        ("npx", None),
        ("timeout", None),
    ] {
        check(line, expected);
    }
    check(&"nice ".repeat(DEPTH_MAX + 1), None);
}

#[test]
fn the_table_names_each_command_once() {
    let mut all: Vec<_> =
        AGENTS.iter().flat_map(|agent| agent.commands.iter().chain(agent.packages)).collect();
    let n_words = all.len();
    all.sort_unstable();
    all.dedup();
    // Aider's package is called like its command.
    assert_eq!(all.len() + 1, n_words);
    for agent in AGENTS {
        assert_eq!(
            agent.rules().is_some(),
            crate::rules::Rules::of(agent).is_ok_and(|rules| !rules.is_empty())
        );
    }
}
