//! Language servers beside local workspaces, as a run meets them.

#![expect(clippy::disallowed_methods, reason = "writes configurations, as a person would")]

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};

use crate::home::Home;

/// A server in bash: it takes whole documents, and complains of every one that says `bad`.
const SERVER: &str = r#"
say() { printf 'Content-Length: %d\r\n\r\n%s' "${#1}" "$1"; }
while :; do
  size=0
  while IFS= read -r line && line=${line%$'\r'} && [ -n "$line" ]; do
    case $line in [Cc]ontent-[Ll]ength:*) size=${line##*: };; esac
  done
  [ "$size" -gt 0 ] || exit 0
  LC_ALL=C IFS= read -r -N "$size" body
  id='' version='' uri='' trouble=''
  [[ $body =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  [[ $body =~ \"version\":([0-9]+) ]] && version=${BASH_REMATCH[1]}
  [[ $body =~ \"uri\":\"([^\"]+)\" ]] && uri=${BASH_REMATCH[1]}
  case $body in
    *'"initialize"'*) say '{"jsonrpc":"2.0","id":'"$id"',"result":{"capabilities":{"textDocumentSync":1}}}';;
    *'"shutdown"'*) say '{"jsonrpc":"2.0","id":'"$id"',"result":null}';;
    *'"exit"'*) exit 0;;
    *'"textDocument/didOpen"'*|*'"textDocument/didChange"'*)
      [[ $body =~ bad ]] && trouble='{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":3}},"severity":1,"message":"this is bad"}'
      say '{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{"uri":"'"$uri"'","version":'"$version"',"diagnostics":['"$trouble"']}}';;
    *) [ -z "$id" ] || say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"no"}}';;
  esac
done
"#;

/// Writes, asks, mends, asks again.
fn story() -> Value {
    let call = |tool: &str, input: Value| json!({"blocks": [{"type": "call", "tool": tool, "input": input}]});
    json!({"turns": [
        call("write", json!({"path": "a.py", "content": "bad\n"})),
        call("lsp_diagnostics", json!({"path": "a.py"})),
        call("edit", json!({"path": "a.py", "edits": [{"oldText": "bad", "newText": "good"}]})),
        call("lsp_diagnostics", json!({"path": "a.py"})),
        {"blocks": [{"type": "text", "text": "done"}]},
    ]})
}

pub(crate) fn layer(home: &Home) -> String {
    let server = home.path("server.sh");
    fs::write(&server, SERVER).unwrap();
    format!(
        "[servers.plain]\ncommand = [\"bash\", {:?}]\nlanguages = [\"python\"]\n",
        server.to_str().unwrap()
    )
}

pub(crate) fn private(path: &std::path::Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Runs the story and returns what the server's tools answered.
fn answers(home: &Home) -> Vec<String> {
    let lines = home.stead(&["run", "--mode", "auto", "--json", "go"]).with(0).lines();
    let of = |kind: &'static str| lines.iter().filter(move |line| line["type"] == kind);
    let asked: Vec<&str> = of("tool-input-available")
        .filter(|line| line["toolName"] == "lsp_diagnostics")
        .map(|line| line["toolCallId"].as_str().unwrap())
        .collect();
    let told = of("tool-output-available").chain(of("tool-output-error"));
    told.filter(|line| asked.contains(&line["toolCallId"].as_str().unwrap()))
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_run_hears_of_its_files_as_they_are_now() {
    let home = Home::scripted(&story());
    private(&home.path("lsp.toml"), &layer(&home));
    let answers = answers(&home);
    assert!(answers[0].contains("this is bad"), "{answers:?}");
    assert!(!answers[1].contains("this is bad") && !answers[1].contains("error"), "{answers:?}");
}

#[test]
fn the_projects_own_layer_counts_where_it_is_trusted() {
    let home = Home::scripted(&story());
    let own = home.path("work/.stead");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("lsp.toml"), layer(&home)).unwrap();
    let before = answers(&home);
    assert!(
        before.iter().all(|answer| answer.contains("unknown_tool") || answer.contains("no tool")),
        "{before:?}"
    );
    let config = home.path("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        format!("{text}\n[lsp]\ntrust = [{:?}]\n", home.path("work").to_str().unwrap()),
    )
    .unwrap();
    home.stead(&["daemon", "stop"]).with(0);
    assert!(answers(&home)[0].contains("this is bad"));
}

#[test]
fn a_layer_that_cannot_be_used_is_told_before_anything_runs() {
    let home = Home::scripted(&story());
    let check = |text: &str, mode: u32, expected: &str| {
        let path = home.path("lsp.toml");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let ended = home.stead(&["run", "go"]);
        assert!(ended.err.contains(expected), "{text}: {}", ended.err);
        assert_ne!(ended.code, 0);
    };
    check("[servers.x]\ncomand = []\n", 0o600, "`comand` is not known");
    check("[servers", 0o600, "line 1");
    check("", 0o644, "chmod 600");
    assert!(!home.path("work/a.py").exists());
}
