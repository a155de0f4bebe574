//! A failure as HTTP tells it.

use serde::{Deserialize, Serialize};
use vocab::outcome::{Effect, Failure};

/// The body of every answer that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Stable, `snake_case`.
    pub code: String,
    /// Whether the world changed.
    pub effect: Effect,
    /// One sentence for a person.
    pub message: String,
    /// The next step, where somebody can take one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The field of the body that is wrong, as a path: `messages[0].role`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The session it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// What an ambiguous name could mean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Self {
            code: failure.code,
            effect: failure.effect,
            message: failure.message,
            hint: failure.hint,
            field: None,
            session_id: None,
            candidates: Vec::new(),
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self {
            code: problem.code,
            effect: problem.effect,
            message: problem.message,
            hint: problem.hint,
        }
    }
}

/// Returns the HTTP status of a failure code. A code without a row is a fault of ours: 500.
#[must_use]
pub fn status_of(code: &str) -> u16 {
    STATUSES.iter().find(|(known, _)| *known == code).map_or(500, |(_, status)| *status)
}

/// Which status goes with which code, and what its reader should do is in the hint.
pub const STATUSES: &[(&str, u16)] = &[
    ("malformed_body", 400),
    ("invalid_field", 400),
    ("unknown_field", 400),
    ("invalid_query", 400),
    ("malformed_request", 400),
    ("regenerate_unsupported", 400),
    ("model_unavailable", 400),
    ("model_unknown", 400),
    ("provider_unknown", 400),
    ("config_invalid", 400),
    ("address_invalid", 400),
    ("file_unusable", 400),
    ("tls_certificate_invalid", 400),
    ("tls_key_invalid", 400),
    ("tls_roots_missing", 500),
    ("workspace_exists", 409),
    ("workspace_in_use", 409),
    ("workspace_detached", 409),
    ("workspace_not_deferred", 409),
    ("workspace_unsupported", 409),
    ("wrong_workspace", 409),
    ("token_refused", 502),
    ("not_a_runtime", 502),
    ("unreachable", 502),
    ("lsp_config", 400),
    ("provider_api_unknown", 400),
    ("provider_header_invalid", 400),
    ("provider_script_missing", 400),
    ("provider_url_invalid", 400),
    ("not_a_directory", 400),
    ("is_a_directory", 400),
    ("not_a_regular_file", 400),
    ("path_invalid", 400),
    ("path_too_long", 400),
    ("too_many_links", 400),
    ("too_many_entries", 400),
    ("command_malformed", 400),
    ("timeout_out_of_range", 400),
    ("cwd_missing", 400),
    ("cwd_unusable", 400),
    ("command_missing", 400),
    ("command_too_long", 413),
    ("socket_path_too_long", 400),
    ("session_file_unusable", 400),
    ("not_a_repository", 400),
    ("branch_invalid", 400),
    ("program_unusable", 400),
    ("unauthorized", 401),
    ("foreign_host", 403),
    ("foreign_origin", 403),
    ("foreign_referer", 403),
    ("person_required", 403),
    ("forbidden", 403),
    ("job_refused", 403),
    ("keys_need_socket", 403),
    ("permission_denied", 403),
    ("protected", 403),
    ("path_outside_root", 403),
    ("other_mount", 403),
    ("read_only", 403),
    ("not_found", 404),
    ("session_not_found", 404),
    ("job_not_found", 404),
    ("workspace_not_found", 404),
    ("no_live_run", 404),
    ("unknown_block", 404),
    ("no_route", 404),
    ("unknown_op", 404),
    ("method_not_allowed", 405),
    ("body_timeout", 408),
    ("conflict", 409),
    ("run_in_flight", 409),
    ("job_ended", 409),
    ("is_a_session", 409),
    ("no_commit", 409),
    ("branch_exists", 409),
    ("repository_missing", 409),
    ("worktree_unsaved", 409),
    ("job_running", 409),
    ("upgrade_refused", 409),
    ("input_full", 409),
    ("locked", 409),
    ("run_parked", 409),
    ("already_answered", 409),
    ("answer_late", 409),
    ("ambiguous", 409),
    ("idempotency_mismatch", 409),
    ("already_exists", 409),
    ("is_a_directory", 409),
    ("not_a_directory", 409),
    ("transfer_mismatch", 409),
    ("path_changed", 409),
    ("stale_content", 409),
    ("cursor_expired", 410),
    ("body_too_large", 413),
    ("too_large", 413),
    ("uri_too_long", 414),
    ("unsupported_media_type", 415),
    ("headers_too_large", 431),
    ("internal", 500),
    ("artifacts_unusable", 500),
    ("io", 500),
    ("job_files_unusable", 500),
    ("job_malformed", 500),
    ("job_newer", 500),
    ("job_not_ended", 500),
    ("end_unwritten", 507),
    ("git_failed", 500),
    ("worktree_foreign", 500),
    ("worktree_not_made", 500),
    ("worktree_not_removed", 500),
    ("upgrade_failed", 500),
    ("run_unstored", 500),
    ("state_io", 500),
    ("state_refused", 500),
    ("store_broken", 500),
    ("store_corrupt", 500),
    ("store_io", 500),
    ("store_newer", 500),
    ("store_not_private", 500),
    ("store_on_network", 500),
    ("shell_missing", 503),
    ("program_missing", 503),
    ("pidfd_missing", 503),
    ("busy", 503),
    ("too_many_open_files", 503),
    ("too_many_bodies", 503),
    ("too_many_connections", 503),
    ("too_many_runs", 503),
    ("too_many_streams", 503),
    ("stream_cut", 503),
    ("too_many_jobs", 503),
    ("host_unreachable", 503),
    ("host_silent", 503),
    ("host_failed", 503),
    ("too_many_workspaces", 503),
    ("draining", 503),
    ("interrupted", 503),
    ("stale_epoch", 503),
    ("store_busy", 503),
    ("store_closed", 503),
    ("disk_full", 507),
    ("no_space", 507),
];
