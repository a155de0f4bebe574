//! Which file is taken, and what is said of one that is not.

use super::*;

fn check(text: &str, message: &str, hint: Option<&str>) {
    let failure = parse("config.toml", text).unwrap_err();
    assert!(failure.message.contains(message), "{}", failure.message);
    assert_eq!(failure.hint.as_deref(), hint);
}

#[test]
fn an_unknown_key_names_the_nearest_known_one_with_its_line() {
    check("defualt_model = \"a/b\"\n", "config.toml:1:", Some("did you mean \"default_model\"?"));
    check("[run]\nsteps = 3\n", "config.toml:2:", Some("did you mean \"steps_max\"?"));
    let begun = Some("did you mean \"bash_timeout_seconds\"?");
    check("[run]\nbash = 3\n", "config.toml:2:", begun);
    check("[run]\nshel = \"\"\n", "config.toml:2:", Some("did you mean \"shell\"?"));
    check("[run]\nquite_another = 3\n", "config.toml:2:", None);
    check(
        "[providers.a]\napi = \"x\"\nbase_ulr = \"\"\n",
        ":3:",
        Some("did you mean \"base_url\"?"),
    );
    check(
        "[run]\nsteps_max = \"many\"\n",
        ":2: steps_max: invalid type: string, expected u32",
        None,
    );
    check("x = [\n", "config.toml:", None);
    // Whoever appends a line to the file appends it to the last table.
    for table in ["[run]\n", "[providers.a]\napi = \"scripted\"\n", "[notify]\n"] {
        let text = format!("{table}default_model = \"a/b\"\n");
        check(&text, ": unknown field `default_model`", Some(ABOVE_TABLES));
    }
}

#[test]
fn a_profile_is_refused_as_long_as_nothing_keeps_it() {
    for table in [
        "[profiles.review]\npermission = \"read-only\"\n",
        "[profiles.review]\nshell = \"sandboxed\"\n",
        "[profiles.review]\npermission = \"nonsense\"\n",
        "[profiles]\n",
        "profiles = {}\n",
    ] {
        let text = format!("default_model = \"a/b\"\n\n{table}");
        check(&text, "config.toml:3: unknown field `profiles`", Some(NO_PROFILES));
    }
}

#[test]
fn the_file_that_the_readme_shows_is_accepted() {
    let text = r#"
        default_model = "local/qwen3"
        [providers.local]
        api = "openai-chat"
        base_url = "http://127.0.0.1:11434/v1"
        key_env = "LOCAL_KEY"
        models = [{ id = "qwen3", context_window = 32768, max_output = 4096 }]
        [workspaces.site]
        path = "~/src/site"
    "#;
    let config = parse("config.toml", text).unwrap();
    assert_eq!(config.providers["local"].models[0].context_window, Some(32768));
    assert_eq!(config.places()[0].name, "site");
}

#[test]
fn no_value_is_repeated_by_the_words_about_it() {
    for value in [
        "\"Token SEKRET\"",
        "\"a, expected SEKRET\"",
        "\"`SEKRET\"",
        "'SEKRET'",
        "\"\"\"\nSEKRET\n\"\"\"",
        "SEKRET",
        "\"SEKRET",
        "[\"SEKRET\"]",
        "7357",
        "73.57",
        "1979-05-27T07:32:00Z",
    ] {
        for before in [
            "[providers.a]\napi = \"x\"\nheaders = ",
            "[providers.a]\napi = \"x\"\nmodels = ",
            "[workspaces]\na = ",
            "providers = ",
            "[run]\nenv = ",
        ] {
            let text = format!("{before}{value}\n");
            let Err(failure) = parse("config.toml", &text) else { continue };
            let told = format!("{failure:?}");
            for part in ["SEKRET", "7357", "73.57", "1979"] {
                assert!(!told.contains(part), "{text}: {told}");
            }
            assert!(told.contains("config.toml:"), "{told}");
        }
    }
    let headers = "[providers.a]\napi = \"x\"\nheaders = \"SEKRET\"\n";
    check(headers, "config.toml:3: headers: invalid type: string, expected a map", None);
}

#[test]
fn what_would_fail_once_it_is_used_is_refused_when_it_is_read() {
    let provider = |rest: &str| format!("# one\n[providers.a]\n{rest}\n");
    check(
        &provider("api = \"x\""),
        "config.toml:3: api: no dialect",
        Some("openai-chat, anthropic or scripted"),
    );
    let hint = Some("add base_url to [providers.a]");
    check(&provider("api = \"anthropic\""), "config.toml:2: the provider a has no base_url", hint);
    let hint = Some("add script = \"FILE\" to [providers.a]");
    check(&provider("api = \"scripted\""), "config.toml:2: the provider a has no script", hint);
    let models = "api = \"anthropic\"\nbase_url = \"http://x\"\nmodels = [{ id = \"\" }]";
    check(&provider(models), "config.toml:5: models: the id of number 1 is empty", None);
    let script = "api = \"scripted\"\nscript = \"script.json\"";
    check(&provider(script), "config.toml:4: script: the file is a whole path", None);
    check("[workspaces.w]\npath = \"src\"\n", "config.toml:2: path: a workspace is a whole", None);
    let hint = Some("command = [\"PROGRAM\", \"ARGUMENT\"]");
    check("[notify]\ncommand = [\"\"]\n", "config.toml:2: command: its program is empty", hint);
    // A vendor's address is known.
    parse("config.toml", "[providers.anthropic]\napi = \"anthropic\"\n").unwrap();
}

#[test]
fn what_does_not_work_on_this_machine_is_told_with_its_line() {
    let told = |text: &str| parse("config.toml", text).unwrap().warnings;
    assert_eq!(told("[notify]\ncommand = [\"sh\", \"-c\"]\n"), [""; 0]);
    assert_eq!(
        told("\n[notify]\non = [\"done\"]\ncommand = [\"no-such-program\"]\n"),
        ["config.toml:4: [notify] command: there is no program \"no-such-program\""]
    );
}
