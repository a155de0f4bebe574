//! Jobs over real sockets, with real hosts and real programs.

use api::job::{
    DispatchJob, JobRow, PinJob, RenameJob, ResolveJob, Screen, SendText, WorktreeWish,
};
use vocab::{
    job::JobState,
    limits::{REQUEST_TITLE_BYTES_MAX, ROSTER_AGE_MS, SEND_TEXT_BYTES_MAX, STORE_CANDIDATES_MAX},
};

use super::*;

fn wish(script: &str) -> DispatchJob {
    DispatchJob {
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        cwd: "/".into(),
        env: [("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())].into(),
        ..DispatchJob::default()
    }
}

impl Stage {
    async fn ask<B: serde::Serialize + Sync, A: serde::de::DeserializeOwned>(
        &self,
        endpoint: Endpoint,
        of: &str,
        body: &B,
    ) -> Result<A, Problem> {
        let target = Target::of(of);
        let post = endpoint.route().method == Method::Post;
        match self.client().json(endpoint, target, post.then_some(body)).await {
            Ok(answer) => Ok(answer),
            Err(ClientError::Problem(problem)) => Err(*problem),
            Err(error) => panic!("{error}"),
        }
    }

    async fn start(&self, script: &str) -> JobRow {
        self.ask(Endpoint::JobDispatch, "", &wish(script)).await.unwrap()
    }

    async fn rows(&self, query: &str) -> Vec<JobRow> {
        let target = Target { parameter: "", query };
        self.client().json::<(), _>(Endpoint::JobList, target, None).await.unwrap()
    }

    async fn shows(&self, job: &str, text: &str) {
        loop {
            let screen: Screen = self.ask(Endpoint::JobScreen, job, &json!({})).await.unwrap();
            if screen.text.contains(text) {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Waits until a job's program has ended.
    async fn ended(&self, job: &str) -> JobRow {
        loop {
            let row: JobRow = self.ask(Endpoint::JobShow, job, &json!({})).await.unwrap();
            if row.ended_at.is_some() {
                return row;
            }
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_job_is_started_shown_typed_to_and_ended() {
    let stage = Stage::new().await;
    let row = stage.start("echo hi; read x; echo got:$x; read y").await;
    assert_eq!((row.state, row.state_source.as_deref()), (JobState::Working, Some("process")));
    assert_eq!(row.name, "sh -c echo hi; read x; echo got:$x; read y");
    stage.shows(&row.id, "hi").await;
    let text = SendText { text: "abc\r".into() };
    let done: Done = stage.ask(Endpoint::JobSend, &row.id[..6], &text).await.unwrap();
    assert!(done.ok);
    stage.shows(&row.id, "got:abc").await;
    let query = ResolveJob { query: "read x".into() };
    let found: Value = stage.ask(Endpoint::JobResolve, "", &query).await.unwrap();
    assert_eq!(found, json!({"id": row.id, "kind": "job"}));
    let named: JobRow = stage
        .ask(Endpoint::JobRename, "read x", &RenameJob { name: "waiting".into() })
        .await
        .unwrap();
    assert_eq!(named.name, "waiting");
    let pinned: JobRow =
        stage.ask(Endpoint::JobPin, "waiting", &PinJob { pinned: true }).await.unwrap();
    assert!(pinned.pinned);
    let _done: Done = stage.ask(Endpoint::JobDetach, "waiting", &json!({})).await.unwrap();
    let status: Status = stage
        .client()
        .json::<(), _>(Endpoint::DaemonStatus, Target::default(), None)
        .await
        .unwrap();
    assert_eq!((status.jobs.total, status.jobs.live), (1, 1));
    let ended: JobRow = stage.ask(Endpoint::JobStop, "waiting", &json!({})).await.unwrap();
    assert_eq!(ended.state, JobState::Stopped);
    assert!(ended.exit.is_some() && ended.ended_at.is_some() && ended.pid.is_none());
    let refused = stage.ask::<_, Value>(Endpoint::JobSend, "waiting", &text).await.unwrap_err();
    assert_eq!(refused.code, "job_ended");
    let again: JobRow = stage.ask(Endpoint::JobRespawn, "waiting", &json!({})).await.unwrap();
    assert_eq!((again.state, again.exit), (JobState::Working, None));
    let _done: Done = stage.ask(Endpoint::JobRemove, "waiting", &json!({})).await.unwrap();
    let gone = stage.ask::<_, Value>(Endpoint::JobShow, &row.id, &json!({})).await.unwrap_err();
    assert_eq!(gone.code, "job_not_found");
}

#[tokio::test]
async fn jobs_and_sessions_stand_in_one_list() {
    let stage = Stage::new().await;
    let body = CreateSession { cwd: Some("/".into()), ..CreateSession::default() };
    let session: SessionRow =
        stage.client().json(Endpoint::SessionCreate, Target::default(), Some(&body)).await.unwrap();
    let job = stage.start("true").await;
    stage.ended(&job.id).await;
    let rows = stage.rows("").await;
    let told: Vec<_> = rows.iter().map(|row| (row.id.as_str(), row.session.as_deref())).collect();
    assert_eq!(told, [(session.id.as_str(), Some(session.id.as_str())), (&job.id, None)]);
    assert_eq!((rows[0].state, rows[0].status.as_deref()), (JobState::Done, Some("idle")));
    assert_eq!(stage.rows("cwd=%2Fsomewhere").await, []);
    assert_eq!(stage.rows("cwd=/&all").await.len(), 2);
    let target = Target { parameter: "", query: "all=maybe" };
    let refused = stage.client().json::<(), Value>(Endpoint::JobList, target, None).await;
    assert!(matches!(refused, Err(ClientError::Problem(p)) if p.code == "invalid_query"));
}

#[tokio::test]
async fn what_a_session_has_a_form_of_is_done_by_the_same_routes() {
    let stage = Stage::new().await;
    let body = CreateSession {
        cwd: Some("/".into()),
        title: Some("totals".into()),
        ..CreateSession::default()
    };
    let session: SessionRow =
        stage.client().json(Endpoint::SessionCreate, Target::default(), Some(&body)).await.unwrap();
    let query = ResolveJob { query: "otal".into() };
    let found: Value = stage.ask(Endpoint::JobResolve, "", &query).await.unwrap();
    assert_eq!(found, json!({"id": session.id, "kind": "session"}));
    let named = RenameJob { name: "all\n sums".into() };
    let named: JobRow = stage.ask(Endpoint::JobRename, "totals", &named).await.unwrap();
    assert_eq!((named.name.as_str(), &named.id), ("all sums", &session.id));
    let pin = PinJob { pinned: true };
    assert!(stage.ask::<_, JobRow>(Endpoint::JobPin, "sums", &pin).await.unwrap().pinned);
    let stopped: JobRow = stage.ask(Endpoint::JobStop, "sums", &json!({})).await.unwrap();
    assert_eq!((stopped.state, stopped.pinned), (JobState::Done, true));
    let why: Value = stage.ask(Endpoint::JobExplain, "sums", &json!({})).await.unwrap();
    assert_eq!((&why["source"], &why["confidence"]), (&json!("session"), &json!("certain")));
    let text = json!({"text": "x"});
    for (endpoint, body) in [
        (Endpoint::JobRespawn, json!({})),
        (Endpoint::JobDetach, json!({})),
        (Endpoint::JobSend, text),
        (Endpoint::JobScreen, json!({})),
        (Endpoint::JobRemove, json!({})),
    ] {
        let refused = stage.ask::<_, Value>(endpoint, "sums", &body).await.unwrap_err();
        assert_eq!(refused.code, "is_a_session", "{endpoint:?}");
        assert!(refused.hint.is_some_and(|hint| !hint.is_empty()), "{endpoint:?}");
    }
    assert_eq!(stage.rows("").await.len(), 1);
}

#[tokio::test]
async fn what_ended_long_ago_is_shown_when_asked_for() {
    let stage = Stage::new().await;
    let job = stage.start("true").await;
    let id: vocab::ids::JobId = job.id.parse().unwrap();
    stage.ended(&job.id).await;
    stage.services.daemon.jobs.close();
    // As it is read by the next daemon, when it ended a moment before the limit and one after it.
    for (past, shown) in [(ROSTER_AGE_MS - 60_000, 1), (ROSTER_AGE_MS + 1, 0)] {
        let paths = &stage.services.daemon.paths;
        let files = pty::job::JobFiles::new(&paths.home, &paths.runtime, &id);
        let mut note = files.read_note().unwrap().unwrap();
        note.ended_at = Some(stage.services.daemon.clock.now().as_millis() - past);
        note.started_at = note.ended_at.unwrap();
        files.write_note(&note).unwrap();
        let next = stage.again();
        let since = stage.services.daemon.clock.now().as_millis() - ROSTER_AGE_MS;
        let since = Some(stdx::clock::Timestamp::from_millis(since));
        let wanted = ::daemon::roster::Wanted { since, cwd: None };
        assert_eq!(next.rows(&wanted).await.len(), shown);
        assert_eq!(next.rows(&::daemon::roster::Wanted::default()).await.len(), 1);
    }
    let rows = stage.rows("").await;
    assert_eq!(rows.len(), 1, "this daemon saw it end a moment ago");
}

#[tokio::test]
async fn a_host_of_another_version_is_told() {
    let stage = Stage::new().await;
    let job = stage.start("cat").await;
    assert_eq!(job.host_version, None);
    let id: vocab::ids::JobId = job.id.parse().unwrap();
    let mut row = stage.services.daemon.jobs.row(&id).await.unwrap();
    assert_eq!(row.program.host_version.as_deref(), Some(env!("CARGO_PKG_VERSION")));
    row.program.host_version = Some("0.0.1".to_owned());
    assert_eq!(crate::routes::jobs::row(row).host_version.as_deref(), Some("0.0.1"));
}

#[tokio::test]
async fn a_text_to_type_is_bounded() {
    let stage = Stage::new().await;
    let job = stage.start("cat").await;
    for (bytes, code) in
        [(SEND_TEXT_BYTES_MAX, None), (SEND_TEXT_BYTES_MAX + 1, Some("invalid_field"))]
    {
        let text = SendText { text: "x".repeat(bytes) };
        let answer = stage.ask::<_, Value>(Endpoint::JobSend, &job.id, &text).await;
        assert_eq!(answer.err().map(|problem| problem.code).as_deref(), code);
    }
    let stopped: JobRow = stage.ask(Endpoint::JobStop, &job.id, &json!({})).await.unwrap();
    assert_eq!(stopped.state, JobState::Stopped);
}

#[tokio::test]
async fn what_is_wrong_with_a_wish_is_said() {
    let stage = Stage::new().await;
    let check = async |body: Value, code: &str, field: Option<&str>| {
        let problem = stage.ask::<_, Value>(Endpoint::JobDispatch, "", &body).await.unwrap_err();
        assert_eq!((problem.code.as_str(), problem.field.as_deref()), (code, field), "{body}");
    };
    check(json!({}), "invalid_field", Some("command")).await;
    check(json!({"command": [], "cwd": "/"}), "command_missing", None).await;
    check(json!({"command": ["true"], "cwd": "x"}), "invalid_field", Some("cwd")).await;
    check(json!({"command": ["true"], "cwd": "/", "x": 1}), "unknown_field", Some("x")).await;
    check(json!({"command": ["no-such-program"], "cwd": "/"}), "program_missing", None).await;
    assert_eq!(stage.rows("all").await, []);
    let one = stage.start("sleep 1000").await;
    let two = stage.start("sleep 1000").await;
    let problem = stage.ask::<_, Value>(Endpoint::JobStop, "sleep", &json!({})).await.unwrap_err();
    assert_eq!(problem.code, "ambiguous");
    let name = "sh -c sleep 1000";
    assert_eq!(
        problem.candidates,
        [format!("{} job {name}", one.id), format!("{} job {name} (2)", two.id)]
    );
    // Whoever stops the daemon and does not say otherwise ends them.
    let _done: Done = stage
        .client()
        .json(Endpoint::DaemonStop, Target::default(), Some(&StopRequest::default()))
        .await
        .unwrap();
    assert_eq!(stage.services.daemon.jobs.counts().await, (2, 0));
}

#[tokio::test]
async fn a_part_of_an_id_is_no_better_than_one_of_a_name() {
    let stage = Stage::new().await;
    let one = stage.start("sleep 1000").await;
    let end = &one.id[4..];
    let named = DispatchJob { name: Some(format!("add {end}")), ..wish("sleep 1000") };
    let two: JobRow = stage.ask(Endpoint::JobDispatch, "", &named).await.unwrap();
    let stop = async |text: &str| stage.ask::<_, JobRow>(Endpoint::JobStop, text, &json!({})).await;
    let problem = stop(end).await.unwrap_err();
    assert_eq!(
        (problem.code.as_str(), problem.message.as_str(), problem.candidates.len()),
        ("ambiguous", "several jobs match", 2)
    );
    // However many there are, so many are named.
    for _ in 0..STORE_CANDIDATES_MAX + 3 {
        let body = CreateSession { title: Some(format!("to {end}")), ..CreateSession::default() };
        let _made: Value = stage.ask(Endpoint::SessionCreate, "", &body).await.unwrap();
    }
    let problem = stop(end).await.unwrap_err();
    assert_eq!(
        (problem.message.as_str(), problem.candidates.len()),
        ("several jobs and sessions match, 5 more than are listed", STORE_CANDIDATES_MAX)
    );
    assert_eq!(problem.candidates[0], format!("{} job {}", one.id, one.name));
    for job in [&one, &two] {
        assert_eq!(stop(&job.id).await.unwrap().state, JobState::Stopped);
    }
}

#[tokio::test]
async fn a_worktree_is_asked_for_and_given_up_in_words_of_the_wire() {
    let stage = Stage::new().await;
    let wish = DispatchJob { worktree: Some(WorktreeWish::default()), ..wish("true") };
    let refused = stage.ask::<_, Value>(Endpoint::JobDispatch, "", &wish).await.unwrap_err();
    assert_eq!(refused.code, "not_a_repository");
    let long = WorktreeWish { branch: Some("x".repeat(REQUEST_TITLE_BYTES_MAX + 1)) };
    let wish = DispatchJob { worktree: Some(long), ..wish };
    let refused = stage.ask::<_, Value>(Endpoint::JobDispatch, "", &wish).await.unwrap_err();
    assert_eq!(refused.field.as_deref(), Some("worktree.branch"));
    let job = stage.start("true").await;
    let remove = async |query: &str| {
        let target = Target { parameter: &job.id, query };
        stage.client().json::<(), Value>(Endpoint::JobRemove, target, None).await
    };
    for query in ["discard=maybe", "force=true"] {
        let Err(ClientError::Problem(problem)) = remove(query).await else { panic!("{query}") };
        assert_eq!(problem.code, "invalid_query");
    }
    // A job in a directory of a person's has nothing to save or to give up.
    assert_eq!(remove("discard=true").await.unwrap(), json!({"ok": true}));
}
