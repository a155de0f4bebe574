//! What is told a server at its start, and what it answers that it can do.

use serde_json::{Value, json};

use crate::{
    documents::{Save, Sync, Terms},
    position::Encoding,
};

/// What a server said it can do.
#[derive(Debug)]
pub(crate) struct Abilities {
    all: Value,
    pub(crate) terms: Terms,
}

/// Which ability a method needs.
const NEEDS: &[(&str, &str)] = &[
    ("textDocument/definition", "definitionProvider"),
    ("textDocument/references", "referencesProvider"),
    ("textDocument/hover", "hoverProvider"),
    ("textDocument/documentSymbol", "documentSymbolProvider"),
    ("workspace/symbol", "workspaceSymbolProvider"),
    ("textDocument/rename", "renameProvider"),
    ("textDocument/diagnostic", "diagnosticProvider"),
];

impl Abilities {
    /// Reads the answer to `initialize`; an error says what in it cannot be used.
    pub(crate) fn read(answer: &Value) -> Result<Self, String> {
        let all = answer.get("capabilities").cloned().unwrap_or_default();
        let name = all.get("positionEncoding").and_then(Value::as_str);
        let encoding = Encoding::chosen(name)
            .ok_or_else(|| "it counts positions in units nobody offered it".to_owned())?;
        let sync = all.get("textDocumentSync").unwrap_or(&Value::Null);
        let kind = sync.as_u64().or_else(|| sync.get("change")?.as_u64());
        let sync_kind = match kind {
            Some(2) => Sync::Incremental,
            Some(1) => Sync::Full,
            _ => Sync::None,
        };
        let save = match sync.get("save") {
            Some(Value::Bool(true)) => Save::Told,
            Some(save @ Value::Object(_)) => {
                let text = save.get("includeText").and_then(Value::as_bool).unwrap_or_default();
                if text { Save::WithText } else { Save::Told }
            }
            _ => Save::Silent,
        };
        Ok(Self { all, terms: Terms { encoding, sync: sync_kind, save } })
    }

    /// Tells whether the server can answer a method, as far as it said at its start.
    pub(crate) fn can(&self, method: &str) -> bool {
        let need = NEEDS.iter().find(|(name, _)| *name == method).map(|(_, need)| *need);
        let found = need.and_then(|need| self.all.get(need));
        found.is_some_and(|found| !matches!(found, Value::Null | Value::Bool(false)))
    }

    /// Returns the name under which the server gives diagnostics, where it has one.
    pub(crate) fn diagnostic_name(&self) -> Option<&str> {
        self.all.get("diagnosticProvider")?.get("identifier")?.as_str()
    }
}

/// Builds the first request.
pub(crate) fn initialize(root_uri: &str, process: Option<u32>, init: Option<&Value>) -> Value {
    let links = json!({"dynamicRegistration": true, "linkSupport": true});
    let kinds: Vec<u32> = (1..=26).collect();
    json!({
        "processId": process,
        "clientInfo": {"name": "stead"},
        "rootUri": root_uri,
        "workspaceFolders": [{"uri": root_uri, "name": "workspace"}],
        "initializationOptions": init,
        "capabilities": {
            "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
            "window": {"workDoneProgress": true},
            "workspace": {
                "configuration": true,
                "workspaceFolders": true,
                "didChangeWatchedFiles": {"dynamicRegistration": true},
                "didChangeConfiguration": {"dynamicRegistration": true},
                "symbol": {"dynamicRegistration": true, "symbolKind": {"valueSet": kinds}},
                "diagnostics": {"refreshSupport": true},
                "workspaceEdit": {"documentChanges": true, "failureHandling": "abort"},
            },
            "textDocument": {
                "synchronization": {"dynamicRegistration": true, "didSave": true},
                "publishDiagnostics": {"versionSupport": true, "relatedInformation": false},
                "diagnostic": {"dynamicRegistration": true, "relatedDocumentSupport": false},
                "definition": links,
                "references": {"dynamicRegistration": true},
                "hover": {"dynamicRegistration": true, "contentFormat": ["plaintext", "markdown"]},
                "documentSymbol": {
                    "dynamicRegistration": true,
                    "hierarchicalDocumentSymbolSupport": true,
                    "symbolKind": {"valueSet": kinds},
                },
                "rename": {"dynamicRegistration": true, "prepareSupport": false},
            },
        },
    })
}
