//! What of an environment passes to a child, and what never does.

use super::*;

fn pairs(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    list.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

#[test]
fn only_the_base_and_named_variables_pass() {
    let parent = pairs(&[
        ("PATH", "/bin"),
        ("LC_ALL", "C"),
        ("LC_API_KEY", "k"),
        ("GOPATH", "/go"),
        ("ANTHROPIC_API_KEY", "k"),
        ("EDITOR", "vi"),
        ("path", "no"),
    ]);
    let operator = ["GOPATH".into(), "ANTHROPIC_API_KEY".into(), "ABSENT".into()];
    let built = Environment::for_tools(&parent, &operator);
    let names: Vec<&OsStr> = built.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["GOPATH", "LC_ALL", "PATH"]);
}

#[test]
fn the_filter_knows_no_case_and_cannot_be_passed() {
    let cases: &[(&str, bool)] = &[
        ("STEAD_WORKSPACE_TOKEN", true),
        ("stead_remote_token", true),
        ("Stead_Workspace_Tls_Cert", true),
        ("LC_API_KEY", true),
        ("x_password", true),
        ("MY_PRIVATE_KEY", true),
        ("AWS_CREDENTIALS", true),
        ("_SECRET", true),
        ("SECRET", false),
        ("TOKENIZER", false),
        ("API_KEY_FILE", false),
        ("STEAD_RUN", false),
        ("STEAD_CALL", false),
    ];
    for (name, filtered) in cases {
        assert_eq!(is_filtered(OsStr::new(name)), *filtered, "{name}");
        assert_eq!(Environment::empty().set(name, "v").is_err(), *filtered, "{name}");
    }
}

/// Every name from a small alphabet of dangerous pieces, through every way in.
#[test]
fn no_name_in_an_environment_ever_matches_the_filter() {
    let pieces = [
        "",
        "LC_",
        "PATH",
        "STEAD_WORKSPACE_",
        "TLS_",
        "_API_KEY",
        "_token",
        "_Secret",
        "TOKEN",
        "_PASSWORD",
        "_PRIVATE_KEY",
        "_CREDENTIALS",
        "STEAD_REMOTE",
        "X",
    ];
    let mut names = Vec::new();
    for first in pieces {
        for second in pieces {
            for third in pieces {
                names.push(OsString::from(format!("{first}{second}{third}")));
            }
        }
    }
    let parent: Vec<_> = names.iter().map(|name| (name.clone(), "v".into())).collect();
    let mut built = Environment::for_tools(&parent, &names).with_run("run_1");
    for name in &names {
        built.set(name, "again").ok();
    }
    assert!(built.iter().count() > 100);
    assert!(built.iter().all(|(name, _)| !is_filtered(name)));
    assert_eq!(built.get(RUN_MARKER), Some(OsStr::new("run_1")));
}

#[test]
fn what_no_environment_can_carry_is_refused() {
    for (name, value) in [("", "v"), ("A=B", "v"), ("A\0", "v"), ("A", "v\0w")] {
        let refused = Environment::empty().set(name, value).unwrap_err();
        assert_eq!(refused.code(), "environment_malformed");
    }
}

#[test]
fn a_job_inherits_its_table_and_what_was_named_but_no_credential_of_ours() {
    let parent = pairs(&[
        ("PATH", "/bin"),
        ("LC_ALL", "C"),
        ("https_proxy", "http://proxy"),
        ("TERM", "dumb"),
        ("GITHUB_TOKEN", "not named"),
        ("EDITOR", "not named"),
        ("STEAD_WORKSPACE_TOKEN", "own"),
    ]);
    let named = pairs(&[
        ("ANTHROPIC_API_KEY", "named"),
        ("PATH", "/opt/bin"),
        ("STEAD_WORKSPACE_TLS_KEY", "own"),
        ("stead_remote_token", "own"),
    ]);
    let mut built = Environment::for_jobs(&parent, &named);
    built.set("STEAD_JOB_TOKEN", "for the job").unwrap();
    assert_eq!(built.set("STEAD_REMOTE_TOKEN", "v").unwrap_err().code(), "environment_credential");
    let all: Vec<_> = built.iter().map(|(name, _)| name.to_str().unwrap()).collect();
    let expected = ["ANTHROPIC_API_KEY", "LC_ALL", "PATH", "STEAD_JOB_TOKEN", "https_proxy"];
    assert_eq!((all.as_slice(), built.get("PATH")), (&expected[..], Some(OsStr::new("/opt/bin"))));
}
