//! The image and the unit: what they say is understood, and one static program on an empty file system is a runtime.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use workspace::{law, source::OwnedWorkspace as _};

use super::{Served, TOKEN};
use crate::home::Home;

/// Whoever the image runs as.
const NOBODY: u32 = 65_532;

fn packaged(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name);
    fs::read_to_string(path).unwrap()
}

/// The variables that a text names, without the common beginning.
fn twins(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_uppercase() || c == '_';
    let after = text.split("STEAD_WORKSPACE_").skip(1);
    after.map(|rest| rest.chars().take_while(|c| is_part(*c)).collect()).collect()
}

#[test]
fn the_image_and_the_unit_say_only_what_is_understood() {
    let home = Home::new();
    let help = home.stead(&["workspace", "serve", "--help"]).with(0).out;
    for name in ["Containerfile", "stead-workspace@.service"] {
        let found = twins(&packaged(name));
        assert!(found.len() > 3, "{name}: {found:?}");
        for twin in found {
            let flag = format!("--{}", twin.to_ascii_lowercase().replace('_', "-"));
            assert!(twin == "TOKEN" || help.contains(&flag), "{name}: {twin}");
        }
    }
    // The image is built by the toolchain that everything else is built by.
    let pinned =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rust-toolchain.toml"));
    let pinned = pinned.unwrap();
    let version = pinned.split("channel = \"").nth(1).unwrap().split('"').next().unwrap();
    let minor = version.rsplitn(2, '.').last().unwrap_or(version);
    let image = packaged("Containerfile");
    assert!(
        image.contains(&format!("rust:{version}-")) || image.contains(&format!("rust:{minor}-")),
        "{version}"
    );
}

/// The environment that the image gives, with a free port of this machine in the place of its own.
fn image_environment() -> Vec<(String, String)> {
    let image = packaged("Containerfile");
    let env = image.split("\nENV ").nth(1).unwrap().split("\nWORKDIR").next().unwrap();
    let pairs = env.split_whitespace().filter_map(|word| word.split_once('='));
    let of_image = |(name, value): (&str, &str)| match name {
        "STEAD_WORKSPACE_LISTEN" => (name.to_owned(), "127.0.0.1:0".to_owned()),
        "STEAD_WORKSPACE_ALLOW_EXEC" => (name.to_owned(), "false".to_owned()),
        _ => (name.to_owned(), value.to_owned()),
    };
    pairs.map(of_image).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn one_static_program_on_an_empty_file_system_is_a_runtime() {
    let Some(program) = std::env::var_os("STEAD_TEST_STATIC").map(PathBuf::from) else {
        println!("left out: STEAD_TEST_STATIC names no program");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["usr/local/bin", "workspace", "tmp"] {
        fs::create_dir_all(dir.path().join(name)).unwrap();
    }
    fs::copy(program, dir.path().join("usr/local/bin/stead")).unwrap();
    // Every engine gives a container these.
    fs::create_dir(dir.path().join("dev")).unwrap();
    for (name, minor) in [("null", 3), ("random", 8), ("urandom", 9)] {
        let (kind, mode) =
            (rustix::fs::FileType::CharacterDevice, rustix::fs::Mode::from_raw_mode(0o666));
        let at = dir.path().join("dev").join(name);
        rustix::fs::mknodat(rustix::fs::CWD, &at, kind, mode, rustix::fs::makedev(1, minor))
            .unwrap();
    }
    for name in ["workspace", "tmp"] {
        chown(dir.path().join(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--"]);
    command.args(["chroot", "--userspec", "65532:65532"]).arg(dir.path());
    command.args(["/usr/local/bin/stead", "workspace", "serve"]);
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command.envs(image_environment()).env("STEAD_WORKSPACE_TOKEN", TOKEN);
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    let served = Served::ready(command);
    assert!(served.ready.contains("root \"/workspace\""), "{}", served.ready);
    let remote = served.connect().await;
    assert_eq!(law::broken(remote.borrow()).await, Vec::<String>::new());
    Box::new(remote).close().await;
}
