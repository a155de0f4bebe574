//! Layers as they are written, and what is wrong with them.

use serde_json::json;

use super::*;

#[test]
fn a_layer_is_read_whole() {
    let text = r#"
        [servers.ruff]
        command = ["ruff", "server"]
        languages = ["python"]
        root_markers = ["pyproject.toml", ".git"]
        env = { RUFF_CACHE_DIR = "/tmp/ruff" }
        init = { settings = { lint = { select = ["E", "F"], preview = true, n = 1, f = 0.5 } } }
        [servers.far]
        attach = "tcp://127.0.0.1:9000"
        languages = ["go"]
        [servers.near]
        attach = "unix:/run/near.sock"
        languages = ["rust"]
    "#;
    let servers = parse(text).unwrap();
    let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["far", "near", "ruff"]);
    assert_eq!(servers[0].transport, Transport::Tcp("127.0.0.1:9000".parse().unwrap()));
    assert_eq!(servers[1].transport, Transport::Unix("/run/near.sock".into()));
    let ruff = &servers[2];
    assert_eq!(ruff.transport, Transport::Command(vec!["ruff".into(), "server".into()]));
    let lint =
        json!({"settings": {"lint": {"select": ["E", "F"], "preview": true, "n": 1, "f": 0.5}}});
    assert_eq!(ruff.init, Some(lint));
    assert_eq!(parse("").unwrap(), []);
}

#[test]
fn what_cannot_be_used_is_named() {
    let check = |text: &str, wanted: &str| {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    };
    let server = |lines: &str| format!("[servers.s]\nlanguages = [\"python\"]\n{lines}\n");
    let bare = |lines: &str| format!("[servers.s]\n{lines}\n");
    check("[servers", "line 1");
    check("[server.s]", "`server` is not known at `the file`; the nearest known key is `servers`");
    check(&server("comand = [\"x\"]"), "the nearest known key is `command`");
    check(&bare("command = [\"x\"]\nlanguages = [\"pyton\"]"), "is `python`");
    check(&bare("command = [\"x\"]"), "at least one language");
    check(&server(""), "either `command` or `attach`");
    check(&server("command = [\"x\"]\nattach = \"unix:/x\""), "either `command` or `attach`");
    for command in
        ["[]", "\"ruff server\"", "[1]", "[\"./server\"]", "[\"bin/server\"]", "[\"..\"]"]
    {
        check(&server(&format!("command = {command}")), "`servers.s.command`");
    }
    for attach in [
        "unix:relative",
        "unix:",
        "tcp://10.0.0.1:80",
        "tcp://127.0.0.1:0",
        "tcp://127.0.0.1",
        "tcp://localhost:80",
        "tcp://u:p@127.0.0.1:80",
        "http://127.0.0.1:80",
        "",
    ] {
        check(&server(&format!("attach = {attach:?}")), "`servers.s.attach` must be");
    }
    check(&server("command = [\"x\"]\nroot_markers = [\"../x\"]"), "must hold names");
    for name in ["OPENAI_API_KEY", "my_token", "STEAD_WORKSPACE_TOKEN", "STEAD_WORKSPACE_TLS_KEY"] {
        check(
            &server(&format!("command = [\"x\"]\nenv = {{ {name} = \"v\" }}")),
            "never reaches a child",
        );
    }
    check(&server("command = [\"x\"]\nenv = { A = 1 }"), "a table of texts");
    check(&server("attach = \"unix:/x\"\nenv = { A = \"1\" }"), "started here");
    check(&server("command = [\"x\"]\ninit = { a = inf }"), "what JSON has");
    check(&server("command = [\"x\"]\ninit = { a = 2020-01-01 }"), "what JSON has");
    check("[servers.\"a b\"]\ncommand = [\"x\"]", "must be named");
    check("servers = 1", "must be a table");
}
