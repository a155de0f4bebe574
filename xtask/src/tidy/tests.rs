//! Every rule, shown small trees through one `check`.

use std::collections::BTreeMap;

use vocab::limits::Limit;

use super::*;
use crate::{
    generate,
    graph::{Graph, Kind, Member},
    layers,
    source::File,
};

/// A tree on which every rule is silent; tests add to it.
#[derive(Default)]
struct World {
    files: BTreeMap<String, String>,
    members: Vec<Member>,
    normal: Vec<(&'static str, &'static str)>,
    limits: Vec<Limit>,
}

fn world() -> World {
    World::default().file("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n")
}

impl World {
    fn file(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    /// Adds a crate that the map describes and that uses what it declares.
    fn member(mut self, name: &str, declared: &[(&str, Kind)]) -> Self {
        let map = self.files.entry("ARCHITECTURE.md".to_owned()).or_default();
        map.push_str(&format!("### `{name}`\nWords.\n**Never** more.\n\n"));
        let folder = format!("crates/{name}");
        let uses = |(name, _): &(&str, Kind)| format!("use {}::X;\n", name.replace('-', "_"));
        let sources: String = declared.iter().map(uses).collect();
        self.members.push(Member {
            name: name.to_owned(),
            folder: folder.clone(),
            declared: declared.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect(),
        });
        self.file(&format!("{folder}/src/lib.rs"), &format!("//! Purpose.\n{sources}"))
    }

    fn edge(mut self, from: &'static str, to: &'static str) -> Self {
        self.normal.push((from, to));
        self
    }

    fn limit(mut self, because: &'static str, test: &'static str) -> Self {
        self.limits.push(Limit { name: "THINGS_MAX", value: 1_200, unit: "things", because, test });
        self
    }

    fn tree(mut self) -> Tree {
        for (path, page) in generate::pages(&self.limits).unwrap() {
            self.files.entry(path.to_owned()).or_insert(page);
        }
        let mut graph = Graph { members: self.members, ..Graph::default() };
        for (from, to) in self.normal {
            graph.normal.entry(from.into()).or_default().insert(to.into());
        }
        let files = self.files.into_iter().map(|(path, text)| File { path, text }).collect();
        Tree { files, graph, limits: self.limits }
    }
}

/// Checks that exactly these findings come out, each given as `path:line: rule`.
#[track_caller]
fn check(world: World, expected: &[&str]) {
    let found: Vec<String> = super::check(&world.tree()).iter().map(ToString::to_string).collect();
    let places: Vec<String> =
        found.iter().map(|f| f.splitn(4, ':').take(3).collect::<Vec<_>>().join(":")).collect();
    assert_eq!(places, expected, "{found:#?}");
}

fn lines(n_lines: usize) -> String {
    format!("//! Purpose.\n{}", "// A line.\n".repeat(n_lines - 1))
}

#[test]
fn a_clean_tree_is_silent() {
    check(world(), &[]);
    check(world().member("stdx", &[]).member("vocab", &[("stdx", Kind::Normal)]), &[]);
}

#[test]
fn edges_point_down_and_stand_in_the_table() {
    let up = world().member("stdx", &[("vocab", Kind::Normal)]).member("vocab", &[]);
    check(up, &["crates/stdx/Cargo.toml:1: layers"]);
    let sideways = world()
        .file("crates/agent/Cargo.toml", "[dependencies]\nstore.workspace = true\n")
        .member("agent", &[("store", Kind::Normal)])
        .member("store", &[]);
    check(sideways, &["crates/agent/Cargo.toml:2: layers"]);
    check(world().member("attic", &[]), &["xtask/src/layers.rs:1: layers"]);
}

#[test]
fn tests_may_use_anything_but_what_is_built_on_them() {
    let down = world()
        .member("sessions", &[("workspace-local", Kind::Dev)])
        .member("workspace-local", &[])
        .member("testkit", &[]);
    check(down, &[]);
    let cycle = world().member("store", &[("sessions", Kind::Dev)]).member("sessions", &[]);
    check(
        cycle.edge("sessions", "daemon").edge("daemon", "store"),
        &["crates/store/Cargo.toml:1: layers"],
    );
}

#[test]
fn the_ground_links_no_runtime() {
    let linked = || world().member("confine", &[("ignore", Kind::Normal)]);
    check(linked().edge("confine", "ignore"), &[]);
    check(
        linked().edge("confine", "ignore").edge("ignore", "tokio"),
        &["crates/confine/Cargo.toml:1: runtime-free"],
    );
}

#[test]
fn long_files_stand_in_a_list_that_shrinks() {
    let path = "crates/a/src/b.rs";
    let listed = |n: usize| format!("[files]\n\"{path}\" = {n}\n");
    let naughty = "xtask/naughty.toml";
    check(world().file(path, &lines(400)), &[]);
    check(world().file(path, &lines(401)), &["crates/a/src/b.rs:1: file-budget"]);
    check(world().file(path, &lines(450)).file(naughty, &listed(450)), &[]);
    for (n_lines, listed_lines) in [(451, 450), (449, 450), (300, 450), (601, 601)] {
        let world = world().file(path, &lines(n_lines)).file(naughty, &listed(listed_lines));
        check(world, &["crates/a/src/b.rs:1: file-budget"]);
    }
    check(world().file(naughty, &listed(500)), &["xtask/naughty.toml:1: file-budget"]);
}

#[test]
fn long_functions_are_found_and_comments_do_not_count() {
    let function = |body: String| {
        format!(
            "//! Purpose.\n\nimpl A {{\n    pub(crate) async fn long(\n        a: u8,\n    ) {{\n{body}    }}\n}}\n"
        )
    };
    let path = "crates/a/src/b.rs";
    check(world().file(path, &function("        // Why.\n\n".repeat(90))), &[]);
    check(
        world().file(path, &function("        act();\n".repeat(90))),
        &["crates/a/src/b.rs:4: function-budget"],
    );
}

#[test]
fn a_library_root_is_a_page() {
    let path = "crates/a/src/lib.rs";
    check(world().file(path, &lines(81)), &["crates/a/src/lib.rs:1: lib-budget"]);
    let modules: String = (0..20).map(|n| format!("pub mod m{n};\n")).collect();
    check(world().file(path, &format!("//! Purpose.\n{modules}")), &[]);
    let more = format!("//! Purpose.\n{modules}pub use m1::{{A, B}};\n");
    check(world().file(path, &more), &["crates/a/src/lib.rs:1: lib-budget"]);
}

#[test]
fn tests_of_some_length_have_their_own_file() {
    let inside = |n: usize| {
        format!("//! Purpose.\n\n#[cfg(test)]\nmod tests {{\n{}}}\n", "    // A line.\n".repeat(n))
    };
    check(world().file("crates/a/src/b.rs", &inside(58)), &[]);
    check(world().file("crates/a/src/b.rs", &inside(59)), &["crates/a/src/b.rs:4: inline-tests"]);
}

#[test]
fn every_file_says_its_purpose() {
    check(world().file("crates/a/src/b.rs", "use a::b;\n"), &["crates/a/src/b.rs:1: purpose"]);
    check(world().file("crates/a/src/b.rs", "#![no_std]\n\n//! Purpose.\n"), &[]);
}

#[test]
fn wire_shapes_belong_to_those_who_speak() {
    let text = "//! Purpose.\n\n#[derive(Debug, Serialize)]\nstruct A;\n";
    check(world().file("crates/api/src/a.rs", text), &[]);
    check(world().file("crates/gateway/src/a.rs", text), &["crates/gateway/src/a.rs:3: serialize"]);
    let reads = text.replace("Serialize", "Deserialize");
    check(world().file("crates/gateway/src/a.rs", &reads), &[]);
    check(world().file("crates/gateway/src/a/tests.rs", text), &[]);
}

#[test]
fn doors_are_those_of_the_list() {
    let path = "crates/a/src/b.rs";
    let door = "//! Purpose.\n\n#![expect(\n    clippy::disallowed_methods,\n    reason = \"it (must)\",\n)]\n";
    let list = format!("[doors]\n{path:?} = \"it (must)\"\n");
    check(world().file(path, door), &["crates/a/src/b.rs:3: doors"]);
    check(world().file(path, door).file("xtask/doors.toml", &list), &[]);
    check(world().file("crates/a/src/b/tests.rs", door), &[]);
    check(
        world().file(path, "//! Purpose.\n").file("xtask/doors.toml", &list),
        &["xtask/doors.toml:2: doors"],
    );
    let said = super::check(&world().file(path, door).tree());
    let row = "\"crates/a/src/b.rs\" = \"it (must)\"";
    assert!(said[0].to_string().ends_with(row), "{}", said[0]);
}

#[test]
fn foreign_paths_and_hosts_are_found() {
    let path = concat!("see /ro", "ot/x\nand index.crates", ".io\n");
    check(
        world().file("docs/a.md", path),
        &["docs/a.md:1: foreign-text", "docs/a.md:2: foreign-text"],
    );
    check(world().file("docs/a.md", concat!("see <dir>/ro", "ot/x and a/wo", "rk/b\n")), &[]);
}

#[test]
fn limits_have_reasons_tests_and_a_fresh_page() {
    let test = "//! Purpose.\n\n#[test]\nfn many_things() {\n    add(THINGS_MAX);\n}\n";
    let tested = |because, test_name| {
        world().file("crates/my-room/src/tests.rs", test).limit(because, test_name)
    };
    check(tested("enough", "my_room::many_things"), &[]);
    for (because, test_name) in
        [("", "my_room::many_things"), ("enough", "my_room::few"), ("enough", "many_things")]
    {
        check(tested(because, test_name), &["crates/vocab/src/limits.rs:1: limits"]);
    }
    let stale = tested("enough", "my_room::many_things").file("docs/limits.md", "old\n");
    check(stale, &["docs/limits.md:1: generated"]);
    check(world().file("docs/routes.md", "old"), &["docs/routes.md:1: generated"]);
}

#[test]
fn a_test_of_a_limit_stands_where_its_constant_is_named() {
    let row = "crates/vocab/src/limits.rs:1: limits";
    let test = |body: &str| format!("#[test]\nfn many_things() {{\n    {body}\n}}\n");
    let inline = |body: &str| format!("mod tests {{\n{}}}\n", test(body));
    let named = "add(limits::THINGS_MAX + 1);";
    let beside = format!("{}const MANY: usize = THINGS_MAX;\n", test("add(MANY);"));
    for (path, text, expected) in [
        ("src/tests.rs", test(named), &[][..]),
        ("src/tests.rs", beside, &[]),
        ("src/a.rs", inline(named), &[]),
        // The number itself, a longer name, a comment: nothing changes there when the row does.
        ("src/tests.rs", test("add(1_201);"), &[row]),
        ("src/tests.rs", test("add(MANY_THINGS_MAX + THINGS_MAX_ALL);"), &[row]),
        ("src/tests.rs", test("// More than THINGS_MAX.\n    add(1_201);"), &[row]),
        // The product names its bound in any case.
        ("src/a.rs", format!("fn add() {{\n    {named}\n}}\n\n{}", inline("add(1_201);")), &[row]),
    ] {
        let text = format!("//! Purpose.\n\n{text}");
        let world = world().file(&format!("crates/my-room/{path}"), &text);
        check(world.limit("enough", "my_room::many_things"), expected);
    }
}

#[test]
fn codes_that_reach_http_have_a_status() {
    let makes = |code: &str| {
        format!(
            "//! Purpose.\n\nfn f() -> Failure {{\n    Failure::not_started(\n        {code:?}, why)\n}}\n"
        )
    };
    check(world().file("crates/daemon/src/a.rs", &makes("draining")), &[]);
    check(world().file("crates/agent/src/a.rs", &makes("never_heard_of")), &[]);
    let unknown = world().file("crates/daemon/src/a.rs", &makes("never_heard_of"));
    check(unknown, &["crates/daemon/src/a.rs:4: status"]);

    let names = "//! Purpose.\n\nimpl E {\n    fn code(&self) -> &str {\n        match self {\n            \
                 Self::A => \"never_heard_of\",\n        }\n    }\n}\n";
    check(world().file("crates/store/src/a.rs", names), &[]);
    let converts = format!("{names}\nimpl From<E> for Failure {{\n}}\n");
    let found = ["crates/store/src/a.rs:6: status"];
    check(world().file("crates/store/src/a.rs", &converts), &found);
    // Of a crate that acts, only the files whose failures come before a run.
    let way = "//! Purpose.\n\npub fn code(&self) -> &'static str {\n    match self {\n        Self::A => \"strange\",\n    }\n}\n";
    let found = ["crates/workspace-local/src/open.rs:5: status"];
    check(world().file("crates/workspace-local/src/open.rs", way), &found);
    check(world().file("crates/workspace-local/src/edit.rs", way), &[]);
}

#[test]
fn documents_keep_their_form() {
    let nameless = world().member("stdx", &[]).file("ARCHITECTURE.md", "# Map\n");
    check(nameless, &["ARCHITECTURE.md:1: architecture"]);
    let boundless = world().member("stdx", &[]).file("ARCHITECTURE.md", "### `stdx`\nWords.\n");
    check(boundless, &["ARCHITECTURE.md:1: architecture"]);

    let decision = "## Context\n## Decision\n## Consequences\n## What would change our mind\n";
    check(world().file("docs/adr/0001-a.md", decision), &[]);
    let partial = decision.replace("## Consequences\n", "");
    check(world().file("docs/adr/0001-a.md", &partial), &["docs/adr/0001-a.md:1: adr"]);

    let log = "# Changelog\n\n## [Unreleased]\n### Added\n- A.\n\n## [0.1.0] - 2026-01-31\n";
    check(world().file("CHANGELOG.md", log), &[]);
    check(
        world().file("CHANGELOG.md", &log.replace("Added", "News")),
        &["CHANGELOG.md:4: changelog"],
    );
    check(
        world().file("CHANGELOG.md", &log.replace(" - 2026", " 2026")),
        &["CHANGELOG.md:7: changelog"],
    );
    let closed = log.replace("[Unreleased]", "[0.2.0] - 2026-02-01");
    check(world().file("CHANGELOG.md", &closed), &["CHANGELOG.md:3: changelog"]);
}

#[test]
fn promises_name_tests_that_exist() {
    let tests = "//! Tests.\n\n#[test]\nfn it_holds() {}\n\n#[tokio::test]\nasync fn it_waits() {}\n\nfn helper() {}\n";
    let row = "docs/contract-jobs.md:5: contract";
    for (cell, expected) in [
        ("`my_room::it_holds`", &[][..]),
        ("`my_room::it_holds` `my_room::it_waits`", &[]),
        ("", &[row]),
        ("soon", &[row]),
        ("`my_room::it_held`, `my_room::it_holds`", &[row]),
        ("`other::it_holds`", &[row]),
        // What is no test shows nothing.
        ("`my_room::helper`", &[row]),
        ("`it_holds`", &[row]),
    ] {
        let page = format!("# Jobs\n\n| promise | test |\n|---|---|\n| a | {cell} |\n\n| no row\n");
        let world = world().file("crates/my-room/src/tests.rs", tests);
        check(world.file("docs/contract-jobs.md", &page), expected);
    }
}

#[test]
fn dependencies_are_few_explained_and_used() {
    check(world().file("Cargo.lock", &"[[package]]\n".repeat(401)), &["Cargo.lock:1: lock-budget"]);
    let manifest = "[workspace.dependencies]\napi = { path = \"a\" }\na = \"1\" # words\nb = \"1\"\n\n[profile.dev]\ndebug = 1\n";
    check(world().file("Cargo.toml", manifest), &["Cargo.toml:4: dependency-comment"]);

    let declared = [("futures-util", Kind::Normal)];
    check(world().member("stdx", &declared), &[]);
    let lib = "crates/stdx/src/lib.rs";
    let unused = world().member("stdx", &declared).file(lib, "//! No futures_util here.\n");
    check(unused, &["crates/stdx/Cargo.toml:1: unused-dependency"]);
    let tests_only = world()
        .member("stdx", &declared)
        .file(lib, "//! Purpose.\n")
        .file("crates/stdx/src/a/tests.rs", "//! Tests.\nuse futures_util::X;\n");
    let said = super::check(&tests_only.tree());
    assert!(said[0].to_string().contains("[dev-dependencies]"), "{}", said[0]);
}

#[test]
fn the_table_of_layers_is_a_table_of_layers() {
    for row in layers::ROWS {
        assert!(!row.because.is_empty(), "{} has no reason", row.name);
        for used in row.may_use {
            let used = layers::row(used).unwrap_or_else(|| panic!("{used} has no row"));
            assert!(used.level < row.level, "{} may not use {}", row.name, used.name);
        }
    }
}

#[test]
fn metadata_is_read_as_cargo_prints_it() {
    let json = r#"{
        "packages": [
            {"id": "a#1", "name": "a", "manifest_path": "/r/crates/a/Cargo.toml", "dependencies": [
                {"name": "b", "rename": null, "kind": null},
                {"name": "c", "rename": "d", "kind": "dev"}]},
            {"id": "b#1", "name": "b", "manifest_path": "/x/b/Cargo.toml", "dependencies": []},
            {"id": "c#1", "name": "c", "manifest_path": "/x/c/Cargo.toml", "dependencies": []}],
        "workspace_members": ["a#1"],
        "workspace_root": "/r",
        "resolve": {"nodes": [
            {"id": "a#1", "deps": [
                {"pkg": "b#1", "dep_kinds": [{"kind": null}]},
                {"pkg": "c#1", "dep_kinds": [{"kind": "dev"}]}]}]}
    }"#;
    let graph = Graph::from_metadata(json).unwrap();
    assert_eq!(graph.members[0].folder, "crates/a");
    assert_eq!(graph.members[0].declared[1], ("d".to_owned(), Kind::Dev));
    assert_eq!(graph.chain("a", "b"), Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(graph.chain("a", "c"), None);
}
