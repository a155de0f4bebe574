//! The documents that are open in one server, and what it was told of each.
//!
//! A document is opened when it is first asked about, and told anew whenever the file differs. The file is
//! read while the server's lock is held, so that what is told last is what was read last.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde_json::{Value, json};
use vocab::{outcome::Failure, path::WorkspacePath};

use crate::{
    board::Board,
    languages,
    position::{Encoding, Lines},
    rpc::{Peer, PeerError},
    site::{Print, Site},
};

/// How a server wants to hear of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    None,
    Full,
    Incremental,
}

/// Whether and how a server wants to hear that a file was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Save {
    Silent,
    Told,
    WithText,
}

/// What was agreed with a server about documents.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) encoding: Encoding,
    pub(crate) sync: Sync,
    pub(crate) save: Save,
}

/// A document as the server knows it.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) path: WorkspacePath,
    pub(crate) uri: String,
    pub(crate) version: i64,
    pub(crate) text: Arc<str>,
    /// Publications that had arrived when it was last told.
    pub(crate) arrivals: u64,
    print: Print,
    used: u64,
}

/// Why a document is not in step.
#[derive(Debug)]
pub(crate) enum SyncError {
    /// The file cannot be shown.
    File(Failure),
    /// The server is gone.
    Peer(PeerError),
}

impl From<PeerError> for SyncError {
    fn from(error: PeerError) -> Self {
        Self::Peer(error)
    }
}

/// The open documents of one server.
pub(crate) struct Documents {
    site: Arc<Site>,
    peer: Peer,
    board: Arc<Board>,
    terms: Terms,
    open: HashMap<WorkspacePath, Document>,
    tick: u64,
}

impl Documents {
    pub(crate) fn new(site: Arc<Site>, peer: Peer, board: Arc<Board>, terms: Terms) -> Self {
        Self { site, peer, board, terms, open: HashMap::new(), tick: 0 }
    }

    /// Returns the paths that are open, in order.
    pub(crate) fn paths(&self) -> Vec<WorkspacePath> {
        let mut paths: Vec<_> = self.open.keys().cloned().collect();
        paths.sort();
        paths
    }

    /// Returns what the server knows, by path.
    pub(crate) fn all(&self) -> BTreeMap<WorkspacePath, Document> {
        self.open.iter().map(|(path, document)| (path.clone(), document.clone())).collect()
    }

    /// Tells the server of every open file that looks changed.
    pub(crate) async fn refresh(&mut self) -> Result<(), PeerError> {
        for path in self.paths() {
            let print = self.site.print(&path);
            if print.is_none() || self.open.get(&path).map(|document| document.print) != print {
                match self.show(&path).await {
                    Ok(_) | Err(SyncError::File(_)) => {}
                    Err(SyncError::Peer(error)) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Brings the server's document in step with the file, and opens it where it is not.
    pub(crate) async fn show(&mut self, path: &WorkspacePath) -> Result<Document, SyncError> {
        let (site, wanted) = (Arc::clone(&self.site), path.clone());
        let read = tokio::task::spawn_blocking(move || site.read(&wanted)).await;
        let read = read.unwrap_or_else(|_| {
            Err(Failure::not_started("internal", "the read ended unexpectedly"))
        });
        let (text, print) = match read {
            Ok(read) => read,
            Err(failure) => {
                self.close(path).await?;
                return Err(SyncError::File(failure));
            }
        };
        self.tick += 1;
        let tick = self.tick;
        let known = self.open.get_mut(path).map(|document| {
            (document.print, document.used) = (print, tick);
            document.clone()
        });
        match known {
            Some(document) if *document.text == text => Ok(document),
            Some(document) => self.change(document, text).await,
            None => self.open(path, text, print).await,
        }
    }

    async fn open(
        &mut self,
        path: &WorkspacePath,
        text: String,
        print: Print,
    ) -> Result<Document, SyncError> {
        while self.open.len() >= self.site.bounds.documents_max {
            let oldest = self.open.values().min_by_key(|document| document.used);
            let Some(oldest) = oldest.map(|document| document.path.clone()) else { break };
            self.close(&oldest).await?;
        }
        let document = Document {
            path: path.clone(),
            uri: self.site.uri(path),
            version: 1,
            text: text.into(),
            arrivals: self.board.arrivals(),
            print,
            used: self.tick,
        };
        self.board.open(path);
        self.open.insert(path.clone(), document.clone());
        let params = json!({"textDocument": {
            "uri": document.uri,
            "languageId": languages::of(path).unwrap_or("plaintext"),
            "version": document.version,
            "text": &*document.text,
        }});
        self.peer.notify("textDocument/didOpen", &params).await?;
        Ok(document)
    }

    async fn change(&mut self, old: Document, text: String) -> Result<Document, SyncError> {
        let change = match self.terms.sync {
            Sync::Incremental => difference(&old.text, &text, self.terms.encoding),
            Sync::Full | Sync::None => json!({"text": text}),
        };
        let document = Document {
            version: old.version + 1,
            text: text.into(),
            arrivals: self.board.arrivals(),
            ..old
        };
        self.open.insert(document.path.clone(), document.clone());
        self.board.disturb();
        let identity = json!({"uri": document.uri, "version": document.version});
        if self.terms.sync == Sync::None {
            // It listens to no change, so it is told as if the file were another one.
            self.peer
                .notify("textDocument/didClose", &json!({"textDocument": {"uri": document.uri}}))
                .await?;
            let language = languages::of(&document.path).unwrap_or("plaintext");
            let params = json!({"textDocument": {
                "uri": document.uri, "languageId": language, "version": document.version, "text": &*document.text,
            }});
            self.peer.notify("textDocument/didOpen", &params).await?;
            return Ok(document);
        }
        let params = json!({"textDocument": identity, "contentChanges": [change]});
        self.peer.notify("textDocument/didChange", &params).await?;
        let mut saved = json!({"textDocument": {"uri": document.uri}});
        match self.terms.save {
            Save::Silent => return Ok(document),
            Save::Told => {}
            Save::WithText => saved["text"] = Value::from(&*document.text),
        }
        // What is shown was read from the disk, so every change is a saved one.
        self.peer.notify("textDocument/didSave", &saved).await?;
        Ok(document)
    }

    /// Takes a document out, if it is open.
    pub(crate) async fn close(&mut self, path: &WorkspacePath) -> Result<(), PeerError> {
        let Some(document) = self.open.remove(path) else { return Ok(()) };
        self.board.close(path);
        let params = json!({"textDocument": {"uri": document.uri}});
        self.peer.notify("textDocument/didClose", &params).await
    }
}

/// Returns the one change between two texts.
fn difference(old: &str, new: &str, encoding: Encoding) -> Value {
    let same = |(a, b): &(char, char)| a == b;
    let begin: usize =
        old.chars().zip(new.chars()).take_while(same).map(|(ch, _)| ch.len_utf8()).sum();
    let begin = between_line_ends(old, new, begin);
    let (old_rest, new_rest) = (&old[begin..], &new[begin..]);
    let ends = old_rest.chars().rev().zip(new_rest.chars().rev());
    let end: usize = ends.take_while(same).map(|(ch, _)| ch.len_utf8()).sum();
    let mut to = old.len() - end;
    // The end must not stand between the two characters of a line end either, in neither text.
    let splits =
        |text: &str, at: usize| at > 0 && text.as_bytes().get(at - 1..=at) == Some(b"\r\n");
    let mut new_to = new.len() - end;
    while splits(old, to) || splits(new, new_to) {
        (to, new_to) = (to + 1, new_to + 1);
    }
    let lines = Lines::new(old);
    json!({
        "range": {"start": lines.position(begin, encoding), "end": lines.position(to, encoding)},
        "text": &new[begin..new_to],
    })
}

/// Moves a position in front of a line end that it would cut in two.
fn between_line_ends(old: &str, new: &str, at: usize) -> usize {
    let after_return = at > 0 && old.as_bytes()[at - 1] == b'\r';
    let cut = |text: &str| text.as_bytes().get(at) == Some(&b'\n');
    if after_return && (cut(old) || cut(new)) { at - 1 } else { at }
}

#[cfg(test)]
mod tests;
