//! `state.json`: what the daemon has seen of a job and what people have said of it. Written by the daemon
//! alone; fields that it does not know are kept, since an older daemon may follow a newer one.
//!
//! Not here: what was asked for (`job.json`) and how it ended (`exit.json`), which are truer.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vocab::job::JobState;

use crate::hello::State;

/// What is noted of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobNote {
    /// How it is.
    #[serde(flatten)]
    pub told: Told,
    /// The process of its host; none before there was one.
    #[serde(flatten)]
    pub host: Option<HostNote>,
    /// The program's process id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_pid: Option<u32>,
    /// When its program began.
    pub started_at: i64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
    /// When this was written.
    pub updated_at: i64,
    /// What people call it since somebody renamed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Lists keep showing it.
    #[serde(default)]
    pub pinned: bool,
    /// Somebody asked for its end.
    #[serde(default)]
    pub stop_requested: bool,
    /// What others have written.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl JobNote {
    /// Returns the note of a job that begins.
    #[must_use]
    pub fn begun(at: i64) -> Self {
        Self {
            told: Told::by_process(JobState::Working),
            host: None,
            worker_pid: None,
            started_at: at,
            ended_at: None,
            updated_at: at,
            name: None,
            pinned: false,
            stop_requested: false,
            rest: Map::new(),
        }
    }
}

/// How a job is, and where that is known from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    /// The state.
    pub state: JobState,
    /// A few words about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What it waits for, where somebody must act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
    /// Where that is known from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_source: Option<String>,
}

impl Told {
    /// Says what the process alone tells.
    #[must_use]
    pub fn by_process(state: JobState) -> Self {
        Self { state, status: None, waiting_for: None, state_source: Some("process".to_owned()) }
    }
}

impl From<State> for Told {
    fn from(told: State) -> Self {
        let State { state, status, waiting_for, state_source, .. } = told;
        Self { state, status, waiting_for, state_source }
    }
}

/// Which process a host is, also after its pid was given away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostNote {
    /// Its pid.
    pub host_pid: u32,
    /// Its start token.
    pub host_token: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_note_keeps_what_it_does_not_know() {
        let written = json!({
            "state": "blocked", "waitingFor": "permission", "hostPid": 7, "hostToken": "a.1",
            "startedAt": 1, "updatedAt": 2, "pinned": true, "stopRequested": false, "color": {"of": 3},
        });
        let note: JobNote = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(note.host, Some(HostNote { host_pid: 7, host_token: "a.1".into() }));
        assert_eq!(note.told.state, JobState::Blocked);
        assert_eq!(note.rest.keys().collect::<Vec<_>>(), ["color"]);
        assert_eq!(serde_json::to_value(&note).unwrap(), written);
        let bare = json!({"state": "working", "startedAt": 1, "updatedAt": 1});
        let note: JobNote = serde_json::from_value(bare).unwrap();
        assert_eq!((note.host, note.pinned, note.rest), (None, false, Map::new()));
    }
}
