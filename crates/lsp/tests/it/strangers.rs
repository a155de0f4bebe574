//! Real servers, each named by a variable: a program that is absent is a skip, or a failure where
//! `STEAD_TEST_REQUIRE_SERVERS` is set.

use std::ffi::OsString;

use serde_json::{Value, json};

use crate::rig::{Rig, call, text};

/// Returns the server's program, or says why the test is skipped.
fn program(variable: &str) -> Option<OsString> {
    let program = std::env::var_os(variable);
    if program.is_none() {
        assert!(
            std::env::var_os("STEAD_TEST_REQUIRE_SERVERS").is_none(),
            "{variable} must name a language server"
        );
        eprintln!("skipped: {variable} names no language server");
    }
    program
}

struct Stranger {
    arguments: &'static [&'static str],
    language: &'static str,
    file: &'static str,
    /// One fault in the second line, and a name that is used there.
    faulty: &'static str,
    mended: &'static str,
    symbol: Option<&'static str>,
}

async fn meet(variable: &str, stranger: Stranger) {
    let Some(program) = program(variable) else { return };
    let rig = Rig::new();
    let mut command = vec![program.to_str().unwrap()];
    command.extend(stranger.arguments);
    let (file, language) = (stranger.file, stranger.language);
    let layer = format!("[servers.it]\ncommand = {}\nlanguages = [{language:?}]\n", json!(command));
    rig.file(file, stranger.faulty);
    let lsp = rig.open(layer);
    let at = json!({"path": file});
    let found = |outcome: &vocab::outcome::Outcome| {
        let file = &outcome.details.as_ref().unwrap()["files"][0];
        (file["fresh"].clone(), file["count"].as_u64().unwrap_or(0) > 0)
    };
    for (content, is_faulty) in
        [(None, true), (Some(stranger.mended), false), (Some(stranger.faulty), true)]
    {
        if let Some(content) = content {
            rig.file(file, content);
        }
        let outcome = call(&lsp, "lsp_diagnostics", at.clone()).await;
        assert_eq!(outcome.failure, None);
        assert_eq!(found(&outcome), (json!(true), is_faulty), "{}", outcome.plain_text());
    }
    rig.file(file, stranger.mended);
    if let Some(symbol) = stranger.symbol {
        let place = json!({"path": file, "line": 2, "symbol": symbol});
        let defined = text(&lsp, "lsp_definition", place.clone()).await;
        assert!(defined.starts_with(&format!("{file}:1:")), "{defined}");
        let uses = text(&lsp, "lsp_references", place.clone()).await;
        assert_eq!(uses.lines().count(), 2, "{uses}");
        let hover = text(&lsp, "lsp_hover", place.clone()).await;
        assert!(hover.contains(symbol), "{hover}");
        let symbols = text(&lsp, "lsp_symbols", at).await;
        assert!(symbols.contains(symbol), "{symbols}");
        let mut renamed = place;
        renamed["new_name"] = Value::from("renamed");
        let said = text(&lsp, "lsp_rename", renamed).await;
        assert!(said.contains("2 places"), "{said}");
        assert_eq!(rig.content(file), stranger.mended.replace(symbol, "renamed"));
    }
    lsp.close().await;
}

#[tokio::test]
async fn stranger_ruff_finds_what_is_wrong_now() {
    let (faulty, mended) = ("import os\n", "import os\n\nprint(os)\n");
    let stranger = Stranger {
        arguments: &["server"],
        language: "python",
        file: "a.py",
        faulty,
        mended,
        symbol: None,
    };
    meet("STEAD_TEST_RUFF", stranger).await;
}

#[tokio::test]
async fn stranger_pyright_does_all_of_it() {
    let stranger = Stranger {
        arguments: &["--stdio"],
        language: "python",
        file: "a.py",
        faulty: "number: int = 1\nprint(nobody)\n",
        mended: "number: int = 1\nprint(number)\n",
        symbol: Some("number"),
    };
    meet("STEAD_TEST_PYRIGHT", stranger).await;
}

#[tokio::test]
async fn stranger_clangd_does_all_of_it() {
    let stranger = Stranger {
        arguments: &[],
        language: "c",
        file: "a.c",
        faulty: "int number(void);\nint other(void) { return nobody(); }\n",
        mended: "int number(void);\nint other(void) { return number(); }\n",
        symbol: Some("number"),
    };
    meet("STEAD_TEST_CLANGD", stranger).await;
}

#[tokio::test]
async fn stranger_the_typescript_server_does_all_of_it() {
    let stranger = Stranger {
        arguments: &["--stdio"],
        language: "typescript",
        file: "a.ts",
        faulty: "const value = 1;\nexport const other: string = value;\n",
        mended: "const value = 1;\nexport const other: number = value;\n",
        symbol: Some("value"),
    };
    meet("STEAD_TEST_TYPESCRIPT", stranger).await;
}
