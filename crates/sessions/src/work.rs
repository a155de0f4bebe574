//! Sets a run to work: what the model is told besides the conversation, and the loop.
//!
//! What the project says is read here, once for each time that the run is set to work.

use std::sync::Arc;

use agent::{
    journal::Entry,
    pen::Pen,
    project::Project,
    system::system_text,
    toolbelt::Toolbelt,
    transcript::Transcript,
    turn::{Loop, Settings, drive},
};
use daemon::workspaces::Lease;
use tokio_util::sync::CancellationToken;
use vocab::{
    live::Chunk,
    message::{Part, RunState},
};
use workspace::source::ToolSource;

use crate::{models::Chosen, project, sessions::Sessions};

/// The kind of the note that says which of a project's files do not count.
const LEFT_OUT: &str = "project_files";
/// Reasons that a note names; of the others it tells how many.
const N_REASONS: usize = 10;

impl Sessions {
    pub(crate) async fn work(
        &self,
        pen: Pen,
        chosen: Chosen,
        lease: &Lease,
        cancel: CancellationToken,
    ) -> RunState {
        let workspace = lease.workspace();
        let root = workspace.root();
        let place = format!("workspace {} at {root}", workspace.id());
        let project = match self.settings.project_files {
            true => project::read(&workspace, &cancel).await,
            false => Project::default(),
        };
        tell_left_out(&pen, &project).await;
        let tools = Arc::new(Toolbelt::new(vec![workspace as Arc<dyn ToolSource>]));
        let mut system = system_text(&tools.kit(), Some(&root));
        system.push_str(&project.section(&place));
        drive(Loop {
            pen,
            provider: chosen.provider,
            tools,
            clock: self.clock.clone(),
            cancel,
            settings: Settings {
                system,
                steps_max: chosen.steps_max.unwrap_or(self.settings.steps_max),
                output_tokens_max: chosen.output_tokens_max,
                images: chosen.sees,
                answer_within: Some(self.settings.answer_within),
                ..Settings::default()
            },
        })
        .await
    }
}

/// Tells people which files do not count, unless this run has told the same before.
async fn tell_left_out(pen: &Pen, project: &Project) {
    let Some(text) = text(project.left_out()) else { return };
    let note = Part::Note { kind: LEFT_OUT.to_owned(), text: text.clone() };
    if pen.transcript().parts().contains(&note) {
        return;
    }
    let entry = |transcript: &Transcript| {
        let part = transcript.parts().len();
        let chunk = Chunk::Note { part, kind: LEFT_OUT.to_owned(), text };
        Ok(Entry { parts: vec![(part, note)], chunks: vec![chunk], ..Entry::default() })
    };
    // A run that cannot store finds that out at its first step, and ends by it.
    if let Err(failure) = pen.write(entry).await {
        tracing::warn!(%failure, "a note was not stored");
    }
}

fn text(left_out: &[String]) -> Option<String> {
    let (told, rest) = left_out.split_at(left_out.len().min(N_REASONS));
    if told.is_empty() {
        return None;
    }
    let more = match rest.len() {
        0 => String::new(),
        n_more => format!("; and {n_more} more"),
    };
    Some(format!("not told to the model: {}{more}", told.join("; ")))
}
