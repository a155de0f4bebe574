//! Every short path over every kind of component, compared with what the system itself says.

use std::{
    collections::HashSet,
    ffi::OsStr,
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::Path,
};

use super::*;
use crate::{ConfineError, dir::FileId, sys, walk};
use vocab::limits::{PATH_COMPONENTS_MAX, PATH_RETRIES_MAX};

const NAMES: [&str; 13] = [
    "d",
    "f",
    "..",
    "in",
    "abs-in",
    "registered-in",
    "up",
    "out",
    "abs-out",
    "sibling",
    "loop",
    "dangling",
    "missing",
];

/// Puts every kind of entry into a directory `depth` levels below the root.
fn furnish(base: &Path, dir: &Path, depth: usize) {
    fs::write(dir.join("f"), "inside").unwrap();
    let ups = "../".repeat(depth + 1);
    symlink("d", dir.join("in")).unwrap();
    symlink(base.join("root/d"), dir.join("abs-in")).unwrap();
    symlink(base.join("registered/d/f"), dir.join("registered-in")).unwrap();
    symlink("..", dir.join("up")).unwrap();
    symlink(format!("{ups}outside"), dir.join("out")).unwrap();
    symlink(base.join("outside/f"), dir.join("abs-out")).unwrap();
    symlink(base.join("root-evil/f"), dir.join("sibling")).unwrap();
    symlink("loop", dir.join("loop")).unwrap();
    symlink("nothing", dir.join("dangling")).unwrap();
    fs::create_dir(dir.join("d")).unwrap();
    if depth < 2 {
        furnish(base, &dir.join("d"), depth + 1);
    }
}

fn id(path: &Path) -> FileId {
    let meta = fs::symlink_metadata(path).unwrap();
    FileId { dev: meta.dev(), ino: meta.ino() }
}

fn directories(dir: &Path, found: &mut HashSet<FileId>) {
    found.insert(id(dir));
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            directories(&entry.path(), found);
        }
    }
}

struct Oracle {
    real: PathBuf,
    inside: HashSet<FileId>,
    opened: usize,
    refused: usize,
}

impl Oracle {
    fn check(&mut self, root: &Root, text: &str) {
        let Ok(path) = vocab::path::parse(text, root.roots()) else {
            let mut depth = 0_i32;
            let leaves = text.split('/').any(|name| {
                depth += if name == ".." { -1 } else { 1 };
                depth < 0
            });
            assert!(leaves, "{text} was refused by its text");
            return;
        };
        let real = fs::canonicalize(self.real.join(text));
        let within = real.as_ref().is_ok_and(|real| real.starts_with(&self.real));
        let opened = root.open_file(&path);
        let listed = root.open_dir(&path);
        let asked = root.stat(&path);
        let placed = root.locate(&path);
        match &real {
            Ok(real) if within => {
                assert_eq!(asked.unwrap().id, id(real), "{text}");
                assert_eq!(opened.is_ok(), real.is_file(), "{text}");
                assert_eq!(listed.is_ok(), real.is_dir(), "{text}");
                assert_eq!(placed.is_ok(), real.is_file(), "{text}");
                if let Ok(place) = &placed {
                    assert_eq!(place.dir().id(), id(real.parent().unwrap()), "{text}");
                    assert_eq!(Some(place.name()), real.file_name(), "{text}");
                }
                self.opened += 1;
            }
            Ok(_) => {
                let codes = [refusal(opened), refusal(listed), refusal(asked), refusal(placed)];
                assert_eq!(codes, ["path_outside_root"; 4], "{text}");
                self.refused += 1;
            }
            Err(error) => self.check_missing(text, error.raw_os_error(), placed),
        }
    }

    fn check_missing(
        &self,
        text: &str,
        errno: Option<i32>,
        placed: Result<crate::Place, ConfineError>,
    ) {
        let full = self.real.join(text);
        let parent = full.parent().and_then(|parent| fs::canonicalize(parent).ok());
        let plain = fs::symlink_metadata(&full).is_err() && !text.ends_with("..");
        match placed {
            Ok(place) => {
                assert_eq!(errno, Some(libc::ENOENT), "{text}");
                assert!(self.inside.contains(&place.dir().id()), "{text}");
            }
            Err(error) => {
                let fits = parent.is_some_and(|parent| {
                    parent.starts_with(&self.real) && parent.is_dir() && plain
                });
                assert!(!fits, "{text} could be made but: {error}");
            }
        }
    }
}

fn refusal<T>(result: Result<T, ConfineError>) -> &'static str {
    result.err().map_or("opened", |error| error.code())
}

#[test]
fn every_short_path_is_answered_as_the_system_answers() {
    let base = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(base.path()).unwrap().join("base");
    fs::create_dir_all(base.join("root")).unwrap();
    symlink("root", base.join("registered")).unwrap();
    for outside in ["outside", "root-evil"] {
        fs::create_dir(base.join(outside)).unwrap();
        fs::write(base.join(outside).join("f"), "outside").unwrap();
        fs::create_dir(base.join(outside).join("d")).unwrap();
    }
    furnish(&base, &base.join("root"), 0);
    let root = Root::open(&base.join("registered"), RootOptions::default()).unwrap();
    // Without the call only the single step differs, so shorter paths tell as much.
    for (missing, components) in [(false, 4), (true, 3)] {
        sys::pretend_openat2_is_missing(missing);
        let real = base.join("root");
        let mut inside = HashSet::new();
        directories(&real, &mut inside);
        let mut oracle = Oracle { real, inside, opened: 0, refused: 0 };
        let mut level = vec![String::new()];
        for _ in 0..components {
            level = level
                .iter()
                .flat_map(|start| NAMES.map(|name| format!("{start}/{name}")))
                .map(|text| text.trim_start_matches('/').to_owned())
                .collect();
            level.iter().for_each(|text| oracle.check(&root, text));
        }
        let counts = (oracle.opened, oracle.refused);
        assert!(counts.0 > 50 && counts.1 > 50, "{counts:?}");
    }
    sys::pretend_openat2_is_missing(false);
}

#[test]
fn a_way_out_and_back_in_is_a_way_out() {
    let scene = Scene::new();
    scene.write("d/f", "inside");
    symlink("../root/d", scene.inside("back")).unwrap();
    symlink("/proc/self/cwd", scene.inside("magic")).unwrap();
    assert_eq!(scene.read("back/f"), Err("path_outside_root"));
    assert_eq!(scene.read("magic/f"), Err("path_outside_root"));
}

#[test]
fn magic_links_are_text() {
    let proc = Root::open(Path::new("/proc"), RootOptions::default()).unwrap();
    let check = |text: &str, code: &str| {
        let path = vocab::path::parse(text, proc.roots()).unwrap();
        assert_eq!(refusal(proc.open_dir(&path)), code, "{text}");
    };
    check("self/root", "path_outside_root");
    check("self/cwd", "path_outside_root");
    check("self/fd", "opened");
}

#[test]
fn too_many_links_are_refused() {
    let scene = Scene::new();
    scene.write("l0", "end");
    for number in 1..=41 {
        symlink(format!("l{}", number - 1), scene.inside(&format!("l{number}"))).unwrap();
    }
    assert_eq!(scene.read("l40").as_deref(), Ok("end"));
    assert_eq!(scene.read("l41"), Err("too_many_links"));
}

#[test]
fn links_lead_no_deeper_than_a_path_may() {
    let scene = Scene::new();
    let down = |count: usize| vec!["d"; count].join("/");
    // The system takes paths of 4096 bytes, and so the tree can be built plainly.
    scene.write(&format!("{}/f", down(PATH_COMPONENTS_MAX)), "deepest");
    fs::create_dir(scene.inside(&down(PATH_COMPONENTS_MAX + 1))).unwrap();
    symlink(down(200), scene.inside("l")).unwrap();
    symlink(down(57), scene.inside(&format!("{}/m", down(200)))).unwrap();
    symlink("d/..", scene.inside(&format!("{}/up", down(200)))).unwrap();
    let deepest = format!("l/{}", down(PATH_COMPONENTS_MAX - 200));
    assert_eq!(scene.read(&format!("{deepest}/f")).as_deref(), Ok("deepest"));
    // What is left again on the way does not count.
    assert_eq!(scene.read("l/up/up/up/f"), Err("not_found"));
    let code = |path: &str| scene.root.open_dir(&scene.path(path)).map_err(|error| error.code());
    code(&deepest).unwrap();
    assert_eq!(code(&format!("{deepest}/d")).unwrap_err(), "path_too_long");
    assert_eq!(code("l/m").unwrap_err(), "path_too_long");
    let made = scene.root.create_dirs(&scene.path(&format!("{deepest}/new"))).unwrap_err();
    assert_eq!(made.code(), "path_too_long");
    assert!(!scene.inside(&format!("{}/new", down(PATH_COMPONENTS_MAX))).exists());
}

#[test]
fn a_tree_that_keeps_changing_is_given_up() {
    let scene = Scene::new();
    scene.write("f", "");
    let path = scene.path("f");
    let mut walks = 0;
    let error = walk::with(&scene.root, &path, walk::Last::Follow, |_| {
        walks += 1;
        Err::<(), _>(crate::Reason::Busy)
    });
    assert_eq!((error.unwrap_err().code(), walks), ("busy", PATH_RETRIES_MAX));
}

#[test]
fn texts_are_read_as_the_tree_suggests() {
    let scene = Scene::new();
    let check = |text: &str, expected: &str| {
        assert_eq!(scene.root.parse(text).unwrap().to_string(), expected, "{text:?}");
    };
    check("@new", "new");
    check("@types/new", "types/new");
    check("a\u{A0}b", "a b");
    scene.write("@old", "");
    scene.write("@types/x", "");
    scene.write("a\u{A0}b", "");
    scene.write("c d", "");
    scene.write("line\nend", "");
    check("@old", "@old");
    check("@types/new", "@types/new");
    check("a\u{A0}b", "a\u{A0}b");
    check("c\u{202F}d", "c d");
    check("@c d", "c d");
    check("line\\nend", "line\\nend");
    let odd = scene.base.path().join("root").join(OsStr::new("plain"));
    fs::write(&odd, "").unwrap();
    check(odd.to_str().unwrap(), "plain");
}
