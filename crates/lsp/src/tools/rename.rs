//! `lsp_rename`: a new name everywhere, published by us.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};
use vocab::{
    outcome::{Content, Effect, Failure, Outcome},
    path::WorkspacePath,
};

use super::{Ended, Spot, argument, noted};
use crate::{
    edit::{self, Edits},
    instance::Ask,
    serve::Lsp,
};

pub(super) async fn run(lsp: &Lsp, arguments: &Value, ask: &Ask) -> Ended {
    let spot = Spot::find(lsp, arguments, ask).await?;
    let new_name = argument(arguments, "new_name").unwrap_or_default();
    let mut params = spot.params();
    params["newName"] = json!(new_name);
    // What the server knows must be known before it is asked: what is shown later is not what it renamed.
    let shown = spot.served.instance.shown().await;
    let (answer, note) = spot.served.ask("textDocument/rename", &params, ask).await?;
    let version_of = |path: &WorkspacePath| shown.get(path).map(|one| one.version);
    let edits = edit::read(&lsp.0.site, &answer, &version_of)?;
    if edits.is_empty() {
        return Err(Failure::not_started(
            "lsp_edit_refused",
            "the server found nothing to rename there",
        ));
    }
    let texts = shown.into_iter().map(|(path, one)| (path, one.text)).collect();
    let encoding = spot.served.abilities.terms.encoding;
    let mut outcome = publish(lsp, edits, (encoding, texts), ask).await;
    if outcome.failure.is_none() {
        let files = outcome.plain_text();
        let n = files.lines().count();
        let head =
            format!("Renamed to {new_name} in {n} {}:", if n == 1 { "file" } else { "files" });
        outcome.content = vec![Content::text(noted(vec![head, files], note))];
    }
    Ok(outcome)
}

/// Publishes on a thread where that may block, to its end also when nobody waits.
async fn publish(
    lsp: &Lsp,
    edits: Edits,
    (encoding, texts): (crate::position::Encoding, BTreeMap<WorkspacePath, Arc<str>>),
    ask: &Ask,
) -> Outcome {
    let (site, cancel, lsp) = (Arc::clone(&lsp.0.site), ask.cancel.clone(), lsp.clone());
    let published = tokio::task::spawn_blocking(move || {
        let shown = |path: &WorkspacePath| texts.get(path).map(|text| text.to_string());
        let alive = || !cancel.is_cancelled();
        let outcome = edit::publish(&site, &edits, encoding, (&shown, &alive));
        // Told of all, also of those that were not changed: a look costs little.
        edits.keys().for_each(|path| lsp.changed(path));
        outcome
    });
    published.await.unwrap_or_else(|_| {
        let message = "the rename ended unexpectedly";
        Outcome::failed(Failure::new("internal", Effect::Indeterminate, message))
    })
}
