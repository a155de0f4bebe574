//! Which servers there are: layers, grants, trust, and the environment they get.

use lsp::{Lsp, Options, PROJECT_LAYER, State};
use serde_json::json;
use vocab::limits::LSP_CONFIG_BYTES_MAX;
use workspace::source::ToolSource;

use crate::rig::{Rig, able, text};

fn names(lsp: &Lsp) -> Vec<&'static str> {
    lsp.catalog().tools().iter().map(|tool| tool.name).collect()
}

const ALL: [&str; 6] = [
    "lsp_diagnostics",
    "lsp_definition",
    "lsp_references",
    "lsp_hover",
    "lsp_symbols",
    "lsp_rename",
];

const MANAGED: &str = "[servers.m]\ncommand = [\"m\"]\nlanguages = [\"rust\"]\n";
const ATTACHED: &str = "[servers.a]\nattach = \"unix:/nowhere\"\nlanguages = [\"rust\"]\n";

#[tokio::test]
async fn a_started_server_needs_the_grant_and_an_attached_one_trust_and_neither_implies_the_other()
{
    let rig = Rig::new();
    for (layer, exec, trust, offered) in [
        (MANAGED, true, false, true),
        (MANAGED, false, true, false),
        (MANAGED, true, true, true),
        (ATTACHED, true, false, false),
        (ATTACHED, false, true, true),
        (ATTACHED, false, false, false),
        ("", true, true, false),
    ] {
        let mut options = rig.options(layer.to_owned());
        options.exec = options.exec.filter(|_| exec);
        options.trust = options.trust.filter(|_| trust);
        let lsp = Lsp::open(options).unwrap();
        let wanted = if offered { ALL.to_vec() } else { Vec::new() };
        assert_eq!(names(&lsp), wanted, "{layer} {exec} {trust}");
        for status in lsp.status() {
            let state = if offered { State::Stopped } else { State::Failed };
            assert_eq!((status.state, status.last_error.is_some()), (state, !offered));
        }
        lsp.close().await;
    }
}

#[tokio::test]
async fn the_projects_layer_counts_only_where_the_owner_trusts_it() {
    let rig = Rig::new();
    rig.file(PROJECT_LAYER, MANAGED);
    let open = |change: &dyn Fn(&mut Options)| {
        let mut options = rig.options(String::new());
        change(&mut options);
        Lsp::open(options).unwrap()
    };
    let names_of = |lsp: &Lsp| lsp.status().into_iter().map(|row| row.name).collect::<Vec<_>>();
    assert_eq!(names_of(&open(&|_| {})), ["m"]);
    assert_eq!(names_of(&open(&|options| options.trust = None)), Vec::<String>::new());
    // Trust is no permission to start anything.
    let unpermitted = open(&|options| options.exec = None);
    assert_eq!(names(&unpermitted), Vec::<&str>::new());
    assert_eq!(unpermitted.status()[0].state, State::Failed);
    // No key of it could say otherwise.
    for key in ["trust = true", "allow_exec = true"] {
        rig.file(PROJECT_LAYER, format!("{key}\n{MANAGED}"));
        let lsp = open(&|options| options.exec = None);
        assert_eq!(names_of(&lsp), Vec::<String>::new());
        assert!(lsp.notes()[0].contains("nearest"), "{:?}", lsp.notes());
    }
    // Of two with one name the operator's stays.
    rig.file(PROJECT_LAYER, "[servers.m]\ncommand = [\"other\"]\nlanguages = [\"go\"]\n");
    let lsp = open(&|options| options.operator = Some(MANAGED.to_owned()));
    assert_eq!(lsp.status()[0].languages, ["rust"]);
    assert!(lsp.notes()[0].contains("the operator has one of that name"), "{:?}", lsp.notes());
}

#[tokio::test]
async fn a_layer_that_cannot_be_used_is_told_and_passed_over() {
    let rig = Rig::new();
    let most = usize::try_from(LSP_CONFIG_BYTES_MAX).unwrap();
    let padded = |n: usize| format!("{MANAGED}#{}", "x".repeat(n - MANAGED.len() - 1));
    let open = || Lsp::open(rig.options(String::new())).unwrap();
    rig.file(PROJECT_LAYER, padded(most));
    assert_eq!(open().notes(), Vec::<String>::new());
    for content in [padded(most + 1).into_bytes(), b"[servers".to_vec(), b"\xff".to_vec()] {
        rig.file(PROJECT_LAYER, content);
        let lsp = open();
        assert!(lsp.notes()[0].contains("is passed over"), "{:?}", lsp.notes());
        assert_eq!(lsp.status(), Vec::new());
    }
    std::fs::remove_file(rig.root().join(PROJECT_LAYER)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", rig.root().join(PROJECT_LAYER)).unwrap();
    assert!(open().notes()[0].contains("outside"), "{:?}", open().notes());
    // The operator's own stops everything, so that nobody believes in a server that is not there.
    let error = Lsp::open(rig.options("[servers.x]".into())).unwrap_err();
    assert_eq!(error.code(), "lsp_config");
}

#[tokio::test]
async fn a_server_sees_the_environment_of_tools_and_what_its_layer_gives() {
    let rig = Rig::new();
    rig.file("a.py", "x\n");
    let shown = rig.dir.path().join("environment");
    let script = rig.server(
        "one",
        able(),
        json!({"textDocument/hover": [[{"answer": {"contents": "it"}}]]}),
    );
    let script =
        script.replace("exec 3>&1", &format!("env >{}; pwd >>{0}; exec 3>&1", shown.display()));
    let script = script.replace("env = {", "env = { RUFF_CACHE = \"here\",");
    let lsp = rig.open(script);
    text(&lsp, "lsp_hover", json!({"path": "a.py", "line": 1, "symbol": "x"})).await;
    let seen = std::fs::read_to_string(&shown).unwrap();
    let mut names: Vec<&str> =
        seen.lines().filter_map(|line| line.split_once('=')).map(|pair| pair.0).collect();
    names.sort_unstable();
    names.retain(|name| !["_", "SHLVL", "OLDPWD"].contains(name));
    let wanted =
        ["HOME", "PATH", "PWD", "RUFF_CACHE", "STEAD_CALL", "STEAD_RUN", "STEAD_TEST_LSP_SCRIPT"];
    assert_eq!(names, wanted);
    let root = std::fs::canonicalize(rig.root()).unwrap();
    assert_eq!(seen.lines().last(), root.to_str());
    lsp.close().await;
}
