//! Keys, models, the bundle, completions, help.

use serde_json::Value;

use crate::home::{Home, read, write};

#[test]
fn a_key_goes_in_and_never_comes_out() {
    let home = Home::new();
    assert_eq!(home.stead(&["secrets", "has", "openai"]).with(3).out, "no\n");
    home.stead_with(&["secrets", "set", "openai"], "sk-very-secret-0123\n").with(0);
    assert_eq!(home.stead(&["secrets", "has", "openai"]).with(0).out, "yes\n");
    let rows: Value =
        serde_json::from_str(&home.stead(&["providers", "--json"]).with(0).out).unwrap();
    let key_of = |name: &str| {
        let row = rows.as_array().unwrap().iter().find(|row| row["name"] == name);
        row.map(|row| row["key"].clone()).unwrap()
    };
    assert_eq!((key_of("openai"), key_of("groq")), ("stored".into(), "none".into()));

    let bundle = home.path("bundle.md");
    home.stead(&["debug", "bundle", "-o", bundle.to_str().unwrap()]).with(0);
    let text = read(&bundle);
    assert!(!text.contains("very-secret") && text.contains("## Daemon"), "{text}");
    home.stead(&["debug", "bundle", "-o", bundle.to_str().unwrap()]).with(1);

    home.stead(&["secrets", "rm", "openai"]).with(0);
    home.stead(&["secrets", "has", "openai"]).with(3);
    home.stead_with(&["secrets", "set", "openai"], "two words\n").with(2);
}

#[test]
fn a_configuration_that_is_off_is_a_matter_of_usage() {
    let home = Home::new();
    write(&home.path("config.toml"), "defualt_model = \"a/b\"\n");
    let ended = home.stead(&["models"]).with(2);
    assert!(ended.err.contains("did you mean"), "{}", ended.err);
    home.stead(&["nonsense"]).with(2);
    home.stead(&["--help"]).with(0);
}

#[test]
fn completions_and_man_pages_are_made() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(home.stead(&["completions", shell]).with(0).out.contains("stead"));
    }
    home.stead(&["man", home.work().to_str().unwrap()]).with(0);
    assert!(read(&home.work().join("stead-run.1")).contains("thinking"));
    home.stead(&["man", "missing"]).with(3);
}
