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
    check("[run]\nsteps_max = \"many\"\n", ":2: invalid type", None);
    check("x = [\n", "config.toml:", None);
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
fn the_documented_file_is_accepted() {
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
