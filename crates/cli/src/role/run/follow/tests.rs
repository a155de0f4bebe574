//! Streams that break, fall silent and come back.

use std::sync::Mutex;

use vocab::limits::CLIENT_RECONNECTS_MAX;

use super::*;

/// A body that gives one piece after a while, and then no more.
struct Late(Duration, Option<&'static str>);

impl Body for Late {
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            let Some(piece) = self.1.take() else { return std::future::pending().await };
            tokio::time::sleep(self.0).await;
            Some(piece.as_bytes().to_vec())
        })
    }
}

/// A body that gives its pieces, then ends or stays silent for ever.
struct Pieces(VecDeque<&'static str>, bool);

impl Body for Pieces {
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            match self.0.pop_front() {
                Some(piece) => Some(piece.as_bytes().to_vec()),
                None if self.1 => std::future::pending().await,
                None => None,
            }
        })
    }
}

fn body(pieces: &[&'static str]) -> Box<dyn Body> {
    Box::new(Pieces(pieces.iter().copied().collect(), false))
}

type Opened = Result<Option<Box<dyn Body>>, ClientError>;

#[derive(Default)]
struct Plan {
    answers: Mutex<VecDeque<Opened>>,
    asked: Mutex<Vec<String>>,
}

impl Opener for Plan {
    fn open<'a>(&'a self, session: &'a str, after: Option<&'a str>) -> BoxFuture<'a, Opened> {
        self.asked.lock().unwrap().push(format!("{session} {}", after.unwrap_or("-")));
        let unreachable = || Err(ClientError::Unreachable(std::io::ErrorKind::NotFound.into()));
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or_else(unreachable);
        Box::pin(async move { answer })
    }
}

/// Begins a run whose first stream has these pieces.
fn begun<'a>(plan: &'a Plan, pieces: &[&'static str]) -> Follower<'a> {
    plan.answers.lock().unwrap().push_front(Ok(Some(body(pieces))));
    Follower::new(plan, None)
}

async fn told(follower: &mut Follower<'_>) -> Vec<String> {
    let mut out = Vec::new();
    loop {
        match follower.next().await {
            Ok(Told::Session(value) | Told::Chunk(value)) => {
                out.push(value["type"].as_str().unwrap_or("?").to_owned());
            }
            Ok(Told::Done) => break out.push("done".into()),
            Ok(Told::Gone) => break out.push("gone".into()),
            Err(failure) => break out.push(failure.code),
        }
    }
    out
}

const SESSION: &str = "event: stead-session\ndata: {\"session_id\":\"ses_1\"}\n\n";
const A: &str = "id: r.1.0\ndata: {\"type\":\"a\"}\n\n";
const B: &str = "id: r.2.0\ndata: {\"type\":\"b\"}\n\n";
const FINISH: &str = "id: r.3.0\ndata: {\"type\":\"finish\"}\n\n";
const DONE: &str = "data: [DONE]\n\n";

#[tokio::test]
async fn a_broken_stream_goes_on_at_its_position() {
    let plan = Plan::default();
    plan.answers.lock().unwrap().push_back(Ok(Some(body(&[B, FINISH, DONE]))));
    let mut follower = begun(&plan, &[SESSION, A, "id: r.2.0\ndata: {\"ty"]);
    assert_eq!(told(&mut follower).await, ["stead-session", "a", "b", "finish", "done"]);
    assert_eq!(*plan.asked.lock().unwrap(), [" -", "ses_1 r.1.0"]);
}

#[tokio::test]
async fn a_parked_run_goes_on_before_its_finish() {
    let plan = Plan::default();
    plan.answers.lock().unwrap().push_back(Ok(Some(body(&[B, FINISH, DONE]))));
    let mut follower = begun(&plan, &[SESSION, A, FINISH, DONE]);
    assert_eq!(told(&mut follower).await, ["stead-session", "a", "finish", "done"]);
    follower.go_on();
    assert_eq!(told(&mut follower).await, ["b", "finish", "done"]);
    assert_eq!(*plan.asked.lock().unwrap(), [" -", "ses_1 r.1.0"]);
}

#[tokio::test]
async fn a_stream_that_broke_after_its_finish_is_over() {
    let plan = Plan::default();
    let mut follower = begun(&plan, &[SESSION, A, FINISH]);
    assert_eq!(told(&mut follower).await, ["stead-session", "a", "finish", "done"]);
    assert_eq!(*plan.asked.lock().unwrap(), [" -"]);
}

#[tokio::test(start_paused = true)]
async fn a_reader_gives_up_after_so_many_attempts() {
    let plan = Plan::default();
    let mut follower = begun(&plan, &[SESSION]);
    assert_eq!(told(&mut follower).await, ["stead-session", "connection_broken"]);
    let attempts = plan.asked.lock().unwrap().len() - 1;
    assert_eq!(attempts, usize::try_from(CLIENT_RECONNECTS_MAX).unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_counts_as_broken() {
    let plan = Plan::default();
    plan.answers.lock().unwrap().push_back(Ok(None));
    let silent: Box<dyn Body> = Box::new(Pieces([SESSION].into(), true));
    plan.answers.lock().unwrap().push_front(Ok(Some(silent)));
    let mut follower = Follower::new(&plan, None);
    assert_eq!(told(&mut follower).await, ["stead-session", "gone"]);
    for (ms, wanted) in [
        (CLIENT_SILENCE_MS_MAX - 1, &["stead-session", "gone"][..]),
        (CLIENT_SILENCE_MS_MAX + 1, &["gone"]),
    ] {
        let plan = Plan::default();
        let late: Box<dyn Body> = Box::new(Late(Duration::from_millis(ms), Some(SESSION)));
        plan.answers.lock().unwrap().extend([Ok(Some(late)), Ok(None)]);
        assert_eq!(told(&mut Follower::new(&plan, None)).await, wanted, "{ms}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_is_asked_for_again_until_its_first_frame() {
    let plan = Plan::default();
    let refused = |code: &str| {
        let failure = Failure::not_started(code, "not now");
        Err(ClientError::Problem(Box::new(failure.into())))
    };
    let answers = [
        Ok(Some(body(&[]))),
        refused("run_in_flight"),
        Err(ClientError::Unreachable(std::io::ErrorKind::NotFound.into())),
        Ok(Some(body(&[SESSION, A, FINISH, DONE]))),
    ];
    plan.answers.lock().unwrap().extend(answers);
    let mut follower = Follower::new(&plan, None);
    assert_eq!(told(&mut follower).await, ["stead-session", "a", "finish", "done"]);
    assert_eq!(*plan.asked.lock().unwrap(), [" -"; 4]);

    // Another run of the session is no earlier attempt of ours.
    let plan = Plan::default();
    plan.answers.lock().unwrap().push_back(refused("run_in_flight"));
    assert_eq!(told(&mut Follower::new(&plan, None)).await, ["run_in_flight"]);

    let plan = Plan::default();
    assert_eq!(told(&mut Follower::new(&plan, None)).await, ["daemon_unreachable"]);
    let attempts = plan.asked.lock().unwrap().len();
    assert_eq!(attempts, usize::try_from(CLIENT_RECONNECTS_MAX).unwrap());
}
