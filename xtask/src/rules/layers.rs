//! Edges between our crates against the table of layers, and what must stay free of a runtime.

use crate::{
    findings::Findings,
    graph::{Kind, Member},
    layers::{OPEN, RUNTIME_FREE, Row, row},
    tree::Tree,
};

const TABLE: &str = "xtask/src/layers.rs";

/// Checks every edge between members of the workspace.
pub(crate) fn edges(tree: &Tree, findings: &mut Findings<'_>) {
    for member in &tree.graph.members {
        let manifest = format!("{}/Cargo.toml", member.folder);
        let Some(from) = row(&member.name) else {
            findings.add(
                TABLE,
                1,
                format!("`{}` has no row", member.name),
                "give it a layer, the crates it may use and the reason",
            );
            continue;
        };
        for (to, kind) in member.declared.iter().filter(|(to, _)| tree.graph.is_member(to)) {
            let wrong = match kind {
                Kind::Dev => test_edge(tree, member, to),
                Kind::Normal | Kind::Build => product_edge(from, to),
            };
            if let Some((what, remedy)) = wrong {
                findings.add(&manifest, line_of(tree, &manifest, to), what, remedy);
            }
        }
    }
}

/// Says what is wrong with an edge that only tests have, and what to do.
fn test_edge(tree: &Tree, member: &Member, to: &str) -> Option<(String, String)> {
    tree.graph.chain(to, &member.name)?;
    let what = format!("tests of `{}` use `{to}`, which is built on it", member.name);
    Some((what, "move the test up to where both are known".to_owned()))
}

/// Says what is wrong with an edge of the product, and what to do.
fn product_edge(from: &Row, to: &str) -> Option<(String, String)> {
    let may = OPEN.contains(&to) || from.may_use.contains(&to);
    let is_down = row(to).is_some_and(|to| to.level < from.level);
    let what = format!("`{}` may not use `{to}`: {}", from.name, from.because);
    let remedy = format!("remove the edge, or argue a row in {TABLE} with an ADR");
    (!may || !is_down).then_some((what, remedy))
}

/// Checks that no asynchronous runtime is linked into crates that must do without.
pub(crate) fn runtime_free(tree: &Tree, findings: &mut Findings<'_>) {
    for member in tree.graph.members.iter().filter(|m| RUNTIME_FREE.contains(&m.name.as_str())) {
        if let Some(chain) = tree.graph.chain(&member.name, "tokio") {
            findings.add(
                &format!("{}/Cargo.toml", member.folder),
                1,
                format!("a runtime is linked in: {}", chain.join(" → ")),
                "cut the chain; the asynchronous adapter belongs one layer up",
            );
        }
    }
}

/// Returns the line of a manifest that declares a dependency.
pub(crate) fn line_of(tree: &Tree, manifest: &str, dependency: &str) -> usize {
    let declares = |line: &str| {
        line.strip_prefix(dependency).is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
    };
    let file = tree.file(manifest);
    file.and_then(|file| file.text.lines().position(declares)).map_or(1, |idx| idx + 1)
}
