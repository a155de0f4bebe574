//! The table over real sockets: every row, its methods, its bodies.

use super::*;
use crate::testing::{House, Plan, exchange, read_answer, request};
use tokio::io::AsyncWriteExt;

#[tokio::test]
async fn every_row_answers_its_method_alone() {
    let house = House::open(Plan::default()).await;
    for route in TABLE {
        let path = route.endpoint.path_with("a/b ä");
        let own = request(&format!("{} {path}", word(route.method)), "", "");
        let answer = exchange(&mut house.tcp().await, own.as_bytes()).await.unwrap();
        assert!(![404, 405].contains(&answer.status), "{path}: {answer:?}");
        for other in ["GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"] {
            let taken = |row: &&Route| fit(row.path, &path).is_some() && word(row.method) == other;
            if TABLE.iter().any(|row| taken(&row)) {
                continue;
            }
            let text = request(&format!("{other} {path}"), "connection: close\r\n", "");
            let mut stream = house.tcp().await;
            stream.write_all(text.as_bytes()).await.unwrap();
            if other == "HEAD" {
                continue;
            }
            let answer = read_answer(&mut stream).await.unwrap();
            assert_eq!(answer.status, 405, "{other} {path}");
            assert_eq!(answer.code(), "method_not_allowed");
            assert!(answer.header("allow").unwrap().contains(word(route.method)));
        }
    }
    let long = "x".repeat(limits::PATH_PARAMETER_BYTES_MAX + 1);
    for nothing in ["/", "/sessions/", "/sessions/a/b", "/SESSIONS", "//sessions", "/sessions/%ff"]
    {
        let text = request(&format!("GET {nothing}"), "", "");
        let answer = exchange(&mut house.tcp().await, text.as_bytes()).await.unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (404, "no_route"), "{nothing}");
    }
    let text = request(&format!("GET /sessions/{long}"), "", "");
    let answer = exchange(&mut house.tcp().await, text.as_bytes()).await.unwrap();
    assert_eq!(answer.status, 404);
}

#[tokio::test]
async fn a_parameter_is_decoded_within_its_segment() {
    let house = House::open(Plan::default()).await;
    let path = Endpoint::SessionShow.path_with("a/b ä%");
    let text = request(&format!("GET {path}"), "", "");
    let answer = exchange(&mut house.tcp().await, text.as_bytes()).await.unwrap();
    assert_eq!(answer.json()["parameter"], "a/b ä%");
}

#[tokio::test]
async fn no_row_reads_a_secret() {
    for route in TABLE {
        let is_read = route.method == Method::Get;
        assert!(!(is_read && route.path.starts_with("/secrets")), "{}", route.path);
    }
    // Nor does a shape that is answered hold one: the only answer about keys is whether there is one.
    let has = serde_json::to_value(api::secret::HasSecret { has: true }).unwrap();
    assert_eq!(has, serde_json::json!({"has": true}));
}

#[tokio::test]
async fn oversized_bodies_are_refused() {
    let house = House::open(Plan::default()).await;
    let head = |length: &str| {
        format!(
            "POST /agent/abort HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\n{length}\r\n\r\n",
            crate::testing::CREDENTIAL
        )
    };
    // Announced: refused before a byte of it is sent.
    let max = limits::REQUEST_BODY_BYTES_MAX;
    for announced in [(max + 1).to_string(), u64::from(u32::MAX).pow(2).to_string()] {
        let text = head(&format!("content-length: {announced}"));
        let answer = exchange(&mut house.tcp().await, text.as_bytes()).await.unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (413, "body_too_large"));
    }
    // Announced and sent nevertheless: the answer is there for whoever reads late.
    for over_tcp in [true, false] {
        let mut text = head(&format!("content-length: {}", max + 1)).into_bytes();
        text.resize(text.len() + max + 1, b' ');
        let answer = if over_tcp {
            exchange(&mut house.tcp().await, &text).await.unwrap()
        } else {
            exchange(&mut house.unix().await, &text).await.unwrap()
        };
        assert_eq!((answer.status, answer.code().as_str()), (413, "body_too_large"));
    }
    // Not announced: cut at the limit.
    let mut text = head("transfer-encoding: chunked").into_bytes();
    for _ in 0..=(max >> 20) {
        text.extend_from_slice(b"100000\r\n");
        text.resize(text.len() + (1 << 20), b' ');
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"0\r\n\r\n");
    let answer = exchange(&mut house.tcp().await, &text).await.unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (413, "body_too_large"));
    // At the limit: taken.
    let mut text = head(&format!("content-length: {max}")).into_bytes();
    text.resize(text.len() + max, b' ');
    let answer = exchange(&mut house.tcp().await, &text).await.unwrap();
    assert_eq!((answer.status, &answer.json()["bytes"]), (200, &serde_json::json!(max)));
}

#[test]
fn the_usual_bounds_of_bodies_are_those_of_the_table() {
    let perimeter = Perimeter::new(&stdx::secret::Secret::new("x".into()), vec![]);
    let front = Front::new(perimeter, crate::testing::echo());
    assert_eq!(front.bodies.free_bytes(), limits::REQUEST_BODIES_BYTES_MAX);
    assert_eq!(front.body_read, Duration::from_millis(limits::BODY_READ_MS_MAX));
}

#[tokio::test]
async fn bodies_share_one_budget() {
    let plan = Plan { bodies: Some(8 * 1024), ..Plan::default() };
    let house = House::open(plan).await;
    let small = request("POST /agent/abort", "", &" ".repeat(8 * 1024));
    let answer = exchange(&mut house.tcp().await, small.as_bytes()).await.unwrap();
    assert_eq!(answer.status, 200);
    let large = request("POST /agent/abort", "", &" ".repeat(8 * 1024 + 1));
    let answer = exchange(&mut house.tcp().await, large.as_bytes()).await.unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (503, "too_many_bodies"));
    // What was held is given back.
    let answer = exchange(&mut house.tcp().await, small.as_bytes()).await.unwrap();
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_body_holds_its_share_as_long_as_its_handler_holds_it() {
    let (entered, leave) = (Arc::new(tokio::sync::Notify::new()), CancellationToken::new());
    let (inside, left) = (entered.clone(), leave.clone());
    let handler: Handler = Arc::new(move |_, ask| {
        let (inside, left) = (inside.clone(), left.clone());
        Box::pin(async move {
            inside.notify_one();
            left.cancelled().await;
            drop(ask);
            Ok(Reply::Nothing)
        })
    });
    let house = House::open(Plan { bodies: Some(8 * 1024), handler, ..Plan::default() }).await;
    let text = request("POST /agent/abort", "", &" ".repeat(8 * 1024));
    let (mut first, mut second) = (house.tcp().await, house.tcp().await);
    let holds = exchange(&mut first, text.as_bytes());
    let meanwhile = async {
        entered.notified().await;
        let answer = exchange(&mut second, text.as_bytes()).await.unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (503, "too_many_bodies"));
        leave.cancel();
    };
    let (answer, ()) = tokio::join!(holds, meanwhile);
    assert_eq!(answer.unwrap().status, 204);
    let answer = exchange(&mut house.tcp().await, text.as_bytes()).await.unwrap();
    assert_eq!(answer.status, 204);
}

#[tokio::test]
async fn a_slow_body_is_cut() {
    let plan = Plan { body_read: Some(Duration::from_millis(50)), ..Plan::default() };
    let house = House::open(plan).await;
    let text = request("POST /agent/abort", "", "{}");
    let short = &text.as_bytes()[..text.len() - 1];
    let answer = exchange(&mut house.tcp().await, short).await.unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (408, "body_timeout"));
}

#[tokio::test]
async fn only_plain_json_is_a_body() {
    let house = House::open(Plan::default()).await;
    for (header, wanted) in [
        ("content-type: application/json", 200),
        ("content-type: Application/JSON; charset=utf-8", 200),
        ("content-type: application/json\r\ncontent-encoding: identity", 200),
        ("content-type: application/json\r\ncontent-encoding: gzip", 415),
        ("content-type: text/plain", 415),
        ("content-type: application/x-www-form-urlencoded", 415),
        ("content-type: multipart/form-data", 415),
        ("x-none: 1", 415),
    ] {
        let text = format!(
            "POST /agent/abort HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n{header}\r\n\r\n{{}}"
        );
        let answer = exchange(&mut house.unix().await, text.as_bytes()).await.unwrap();
        assert_eq!(answer.status, wanted, "{header}");
    }
}

#[tokio::test]
async fn a_panic_is_a_problem_and_the_house_stands() {
    let house = House::open(Plan::default()).await;
    let text = request("POST /secrets/has", "", "{}");
    let mut stream = house.tcp().await;
    let answer = exchange(&mut stream, text.as_bytes()).await.unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (500, "internal"));
    let text = request("GET /daemon/status", "", "");
    assert_eq!(exchange(&mut stream, text.as_bytes()).await.unwrap().status, 200);
}
