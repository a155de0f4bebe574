//! What a server says unasked: diagnostics of open documents, abilities it adds, wishes it has.
//!
//! Diagnostics are kept with the order of their arrival, so that those of an earlier content can be told from
//! those of the present one. Of files that are not open nothing is kept.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};
use vocab::{
    limits::{LSP_REGISTRATIONS_MAX, LSP_RESULTS_MAX},
    path::WorkspacePath,
};

use crate::{
    rpc::{Handler, Refusal},
    site::Site,
};

/// Diagnostics that a server published of a document.
#[derive(Debug, Clone)]
pub(crate) struct Published {
    /// Of which version, where it says so.
    pub(crate) version: Option<i64>,
    /// How many publications there were before.
    pub(crate) arrival: u64,
    pub(crate) at: Instant,
    /// At most so many as a result may hold.
    pub(crate) items: Vec<Value>,
    /// How many there were.
    pub(crate) count: usize,
}

/// An ability that a server has added.
#[derive(Debug, Clone)]
pub(crate) struct Registered {
    method: String,
    /// The name under which it gives diagnostics, where it has one.
    pub(crate) identifier: Option<String>,
}

/// What one running server has said.
#[derive(Debug)]
pub(crate) struct Board {
    site: Arc<Site>,
    settings: Option<Value>,
    state: Mutex<State>,
    moved: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    arrivals: u64,
    open: HashMap<WorkspacePath, Option<Published>>,
    /// By the id under which it can be taken back; a server may add the same one anew before it takes the
    /// old one back.
    registered: BTreeMap<String, Registered>,
    disturbed: Option<Instant>,
}

impl Board {
    pub(crate) fn new(site: Arc<Site>, settings: Option<Value>) -> Self {
        Self { site, settings, state: Mutex::default(), moved: watch::Sender::new(0) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps diagnostics of a document from now on.
    pub(crate) fn open(&self, path: &WorkspacePath) {
        self.state().open.entry(path.clone()).or_default();
    }

    /// Forgets a document.
    pub(crate) fn close(&self, path: &WorkspacePath) {
        self.state().open.remove(path);
    }

    /// Returns how many publications there were.
    pub(crate) fn arrivals(&self) -> u64 {
        self.state().arrivals
    }

    /// Returns what was published last of a document.
    pub(crate) fn published(&self, path: &WorkspacePath) -> Option<Published> {
        self.state().open.get(path).cloned().flatten()
    }

    /// Notes that the server was just told of a change.
    pub(crate) fn disturb(&self) {
        self.state().disturbed = Some(Instant::now());
    }

    /// Returns when the server was last told of a change of any file.
    pub(crate) fn disturbed(&self) -> Option<Instant> {
        self.state().disturbed
    }

    /// Hears of every publication.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.moved.subscribe()
    }

    /// Returns what the server has said of a method after it was ready, if it can answer it.
    pub(crate) fn registered(&self, method: &str) -> Option<Registered> {
        self.state().registered.values().find(|one| one.method == method).cloned()
    }

    fn publish(&self, params: &Value) {
        let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default();
        let Some(path) = self.site.path(uri) else { return };
        let mut state = self.state();
        state.arrivals += 1;
        let arrival = state.arrivals;
        if let Some(kept) = state.open.get_mut(&path) {
            let items = list(params, "diagnostics");
            *kept = Some(Published {
                version: params.get("version").and_then(Value::as_i64),
                arrival,
                at: Instant::now(),
                items: items.iter().take(LSP_RESULTS_MAX).cloned().collect(),
                count: items.len(),
            });
        }
        drop(state);
        self.moved.send_replace(arrival);
    }

    /// Answers which settings a server shall use: the part of `init` that it names.
    fn configuration(&self, params: &Value) -> Value {
        let setting = |item: &Value| {
            let section = item.get("section").and_then(Value::as_str).unwrap_or_default();
            let names = section.split('.').filter(|name| !name.is_empty());
            let found = names.fold(self.settings.as_ref(), |at, name| at?.get(name));
            found.cloned().unwrap_or_default()
        };
        Value::Array(
            list(params, "items").iter().take(LSP_REGISTRATIONS_MAX).map(setting).collect(),
        )
    }

    fn register(&self, params: &Value) {
        let mut state = self.state();
        for one in list(params, "registrations") {
            let text = |at| one.pointer(at).and_then(Value::as_str);
            let identifier = text("/registerOptions/identifier").map(str::to_owned);
            let (Some(id), Some(method)) = (text("/id"), text("/method")) else { continue };
            if state.registered.len() < LSP_REGISTRATIONS_MAX {
                let method = method.to_owned();
                state.registered.insert(id.to_owned(), Registered { method, identifier });
            }
        }
        drop(state);
        // Who waits for diagnostics may ask for them now.
        self.moved.send_modify(|_| {});
    }

    fn unregister(&self, params: &Value) {
        let mut state = self.state();
        // The protocol's own spelling.
        for one in list(params, "unregisterations") {
            if let Some(id) = one.get("id").and_then(Value::as_str) {
                state.registered.remove(id);
            }
        }
    }
}

fn list<'a>(params: &'a Value, name: &str) -> &'a [Value] {
    params.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice)
}

impl Handler for Board {
    fn asked(&self, method: &str, params: &Value) -> Result<Value, Refusal> {
        match method {
            "workspace/configuration" => Ok(self.configuration(params)),
            "workspace/workspaceFolders"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest" => Ok(Value::Null),
            "client/registerCapability" => {
                self.register(params);
                Ok(Value::Null)
            }
            "client/unregisterCapability" => {
                self.unregister(params);
                Ok(Value::Null)
            }
            "workspace/diagnostic/refresh" => {
                self.moved.send_modify(|_| {});
                Ok(Value::Null)
            }
            // What a rename changes stands in its answer, so that all of it is checked before any of it
            // happens. A server changes nothing on its own.
            "workspace/applyEdit" => {
                let why = "changes are made by a rename alone, from its answer";
                Ok(json!({"applied": false, "failureReason": why}))
            }
            other => Err(Refusal::unknown(other)),
        }
    }

    fn told(&self, method: &str, params: &Value) {
        if method == "textDocument/publishDiagnostics" {
            self.publish(params);
        }
    }
}
