//! The graph of packages as cargo resolved it for Linux: who needs whom, and how.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Deserialize;

/// How one package needs another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Linked into the product.
    Normal,
    /// For tests.
    Dev,
    /// For a build script.
    Build,
}

/// A member of the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// Its name.
    pub(crate) name: String,
    /// Its folder below the root.
    pub(crate) folder: String,
    /// What its manifest declares: the name it is used by, and how.
    pub(crate) declared: Vec<(String, Kind)>,
}

/// The packages and the edges between them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Graph {
    /// The members of the workspace, by name.
    pub(crate) members: Vec<Member>,
    /// Package to the packages that it needs in the product. Versions of one name are one package.
    pub(crate) normal: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Returns the shortest chain of normal dependencies that leads from one package to another.
    pub(crate) fn chain(&self, from: &str, to: &str) -> Option<Vec<String>> {
        let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(package) = queue.pop_front() {
            if package == to {
                let mut chain = vec![package.to_owned()];
                let mut at = package;
                while let Some(before) = came_from.get(at).filter(|_| at != from) {
                    chain.push((*before).to_owned());
                    at = before;
                }
                chain.reverse();
                return Some(chain);
            }
            for next in self.normal.get(package).into_iter().flatten() {
                if next != from && !came_from.contains_key(next.as_str()) {
                    came_from.insert(next, package);
                    queue.push_back(next);
                }
            }
        }
        None
    }

    /// Returns whether a name is a member's.
    pub(crate) fn is_member(&self, name: &str) -> bool {
        self.members.iter().any(|member| member.name == name)
    }

    /// Reads what `cargo metadata` printed.
    pub(crate) fn from_metadata(json: &str) -> anyhow::Result<Self> {
        let metadata: Metadata = serde_json::from_str(json)?;
        let names: BTreeMap<&str, &str> =
            metadata.packages.iter().map(|p| (p.id.as_str(), p.name.as_str())).collect();
        let mut graph = Self::default();
        for package in &metadata.packages {
            if metadata.workspace_members.contains(&package.id) {
                graph.members.push(package.member(&metadata.workspace_root));
            }
        }
        for node in &metadata.resolve.nodes {
            let Some(name) = names.get(node.id.as_str()) else { continue };
            let needs = graph.normal.entry((*name).to_owned()).or_default();
            let normal = node.deps.iter().filter(|dep| dep.kinds.iter().any(|k| k.kind.is_none()));
            needs.extend(normal.filter_map(|dep| names.get(dep.pkg.as_str())).map(|n| (*n).into()));
        }
        Ok(graph)
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    workspace_root: String,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    manifest_path: String,
    dependencies: Vec<Declared>,
}

impl Package {
    fn member(&self, root: &str) -> Member {
        let below = self.manifest_path.strip_prefix(root).unwrap_or(&self.manifest_path);
        let folder = below.trim_start_matches('/').trim_end_matches("/Cargo.toml");
        let declared = self.dependencies.iter().map(|dependency| {
            let kind = match dependency.kind.as_deref() {
                Some("dev") => Kind::Dev,
                Some("build") => Kind::Build,
                _ => Kind::Normal,
            };
            (dependency.rename.as_ref().unwrap_or(&dependency.name).clone(), kind)
        });
        Member { name: self.name.clone(), folder: folder.to_owned(), declared: declared.collect() }
    }
}

#[derive(Deserialize)]
struct Declared {
    name: String,
    rename: Option<String>,
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    #[serde(rename = "dep_kinds")]
    kinds: Vec<EdgeKind>,
}

#[derive(Deserialize)]
struct EdgeKind {
    kind: Option<String>,
}
