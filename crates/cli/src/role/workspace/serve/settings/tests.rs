//! Flags and twins, as values.

use clap::Parser as _;
use vocab::limits::TLS_FILE_BYTES_MAX;

use super::*;
use crate::args::{Args, Command, Workspace};

fn settings(flags: &[&str], twins: &[(&str, &str)], is_root: bool) -> Result<Settings, Failure> {
    let words = ["stead", "workspace", "serve"].iter().chain(flags);
    let Ok(Args { command: Command::Workspace(Workspace::Serve(typed)) }) =
        Args::try_parse_from(words)
    else {
        panic!("{flags:?}");
    };
    let lookup = |name: &str| {
        let found = twins.iter().find(|(known, _)| name == format!("STEAD_WORKSPACE_{known}"));
        found.map(|(_, value)| (*value).to_owned())
    };
    Settings::of(*typed, &Twins(lookup), is_root)
}

const LONG: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn what_flags_and_twins_mean_is_decided_before_anything_opens() {
    let check = |flags: &[&str], twins: &[(&str, &str)], expected: Result<&str, &str>| {
        let found = settings(flags, twins, false);
        let told = match &found {
            Ok(settings) => Ok(format!("{:?}", settings.listen)),
            Err(failure) => Err(failure.code.clone()),
        };
        let told = told.as_ref().map(String::as_str).map_err(String::as_str);
        assert_eq!(told, expected, "{flags:?} {twins:?} {found:?}");
        assert!(!format!("{found:?}").contains(LONG), "{found:?}");
    };
    check(&[], &[], Ok("Tcp(127.0.0.1:8787)"));
    check(&["--listen", "[::1]:0"], &[], Ok("Tcp([::1]:0)"));
    check(&["--listen", "localhost:1"], &[], Ok("Tcp(127.0.0.1:1)"));
    check(&["--listen", "unix:/s"], &[], Ok("Unix(\"/s\")"));
    check(&["--stdio"], &[("LISTEN", "nonsense")], Ok("Stdio"));
    check(&[], &[("STDIO", "true")], Ok("Stdio"));
    check(
        &["--listen", "127.0.0.1:1"],
        &[("STDIO", "true"), ("LISTEN", "127.0.0.1:2")],
        Ok("Tcp(127.0.0.1:1)"),
    );
    check(&[], &[("LISTEN", "127.0.0.1:2")], Ok("Tcp(127.0.0.1:2)"));
    for bad in ["8787", "host:1", "127.0.0.1", "127.0.0.1:70000", "unix:s", ""] {
        check(&["--listen", bad], &[], Err("usage"));
    }
    // Beyond this machine.
    let out = ["--listen", "0.0.0.0:1"];
    check(&out, &[], Err("token_required"));
    check(&out, &[("TOKEN", LONG)], Err("tls_required"));
    check(&out, &[("TOKEN", LONG), ("ALLOW_INSECURE_TRANSPORT", "1")], Ok("Tcp(0.0.0.0:1)"));
    check(&out, &[("ALLOW_INSECURE_TRANSPORT", "1")], Err("token_required"));
    check(&out, &[("TOKEN", LONG), ("TLS_CERT", "c"), ("TLS_KEY", "k")], Ok("Tcp(0.0.0.0:1)"));
    check(&["--tls-cert", "c"], &[], Err("usage"));
    check(&["--listen", "unix:/s", "--tls-cert", "c", "--tls-key", "k"], &[], Err("usage"));
    check(&[], &[("TOKEN", "short")], Err("token_invalid"));
    check(&[], &[("TOKEN", &" ".repeat(40))], Err("token_invalid"));
    check(&[], &[("ORIGIN", "https://a.b, https://c.d")], Ok("Tcp(127.0.0.1:8787)"));
    check(&["--origin", "*"], &[], Err("usage"));
    check(&["--id", "a b"], &[], Err("usage"));
    check(&[], &[("ALLOW_EXEC", "maybe")], Err("usage"));
    for (flag, most) in [
        ("connections", 128),
        ("calls", 128),
        ("total-calls", 1_024),
        ("transfers", 16),
        ("total-transfers", 64),
        ("grace", 3_600),
    ] {
        let least = u64::from(flag != "grace");
        let flag = format!("--max-{flag}");
        for (number, is_good) in [(least, true), (most, true), (most + 1, false)] {
            let expected = if is_good { Ok("Tcp(127.0.0.1:8787)") } else { Err("usage") };
            check(&[&flag, &number.to_string()], &[], expected);
        }
    }
    check(&["--max-calls", "0"], &[], Err("usage"));
    check(&[], &[("MAX_CALLS", "1e3")], Err("usage"));
    check(&[], &[("MAX_CALLS", " 7 ")], Ok("Tcp(127.0.0.1:8787)"));
    assert_eq!(TLS_FILE_BYTES_MAX, 1 << 20);
}

#[test]
fn nothing_is_allowed_unless_it_is_said() {
    let plain = settings(&[], &[], false).unwrap();
    let Permits { allow_exec, allow_mounts, trust_project_lsp, .. } = plain.permits;
    assert!(!allow_exec && !allow_mounts && !trust_project_lsp && plain.token.is_none());
    let twins = [
        ("ALLOW_EXEC", "true"),
        ("ALLOW_MOUNTS", "yes"),
        ("TRUST_PROJECT_LSP", "1"),
        ("ENV", "A, B,,"),
    ];
    let open = settings(&[], &twins, false).unwrap();
    let Permits { allow_exec, allow_mounts, trust_project_lsp, .. } = open.permits;
    assert!(allow_exec && allow_mounts && trust_project_lsp);
    assert_eq!(open.place.env, ["A", "B"]);
    assert_eq!(settings(&[], &[], true).unwrap_err().code, "root_refused");
    assert!(settings(&["--allow-root"], &[], true).is_ok());
    // The names that every server knows are none of this one's.
    let foreign = |name: &str| matches!(name, "HOST" | "PORT").then(|| "1".to_owned());
    let typed = Serve::default();
    assert_eq!(Settings::of(typed, &Twins(foreign), false).unwrap().listen, Listen::Tcp(USUAL));
}
