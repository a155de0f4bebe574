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
    let typo = home.stead_with(&["secrets", "set", "opnai"], "sk-0\n").with(0).err;
    assert!(typo.contains("there is no provider") && typo.contains("did you mean"), "{typo}");
}

#[test]
fn a_configuration_that_is_off_is_a_matter_of_usage() {
    let home = Home::new();
    write(&home.path("config.toml"), "defualt_model = \"a/b\"\n");
    let ended = home.stead(&["models"]).with(2);
    assert!(ended.err.contains("did you mean"), "{}", ended.err);
    home.stead(&["nonsense"]).with(2);
    for (typed, meant) in [(&["rnu"][..], "'run'"), (&["sessions", "lsit"], "'list'")] {
        let told = home.stead(typed).with(2).err;
        assert!(told.contains("tip: ") && told.contains(meant), "{told}");
    }
    home.stead(&["--help"]).with(0);
}

#[test]
fn a_relative_place_is_refused_before_anything_is_made_there() {
    let home = Home::new();
    for name in ["STEAD_HOME", "STEAD_RUNTIME_DIR", "STEAD_CONFIG", "HOME"] {
        let refused = home.command(&["daemon", "start"]).env(name, "near/by").output().unwrap();
        let told = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{name}: {told}");
        assert!(told.contains(&format!("{name} is the relative path \"near/by\"")), "{told}");
    }
    assert!(!home.work().join("near").exists());
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
