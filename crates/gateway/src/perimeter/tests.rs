//! The perimeter over real sockets, one case per combination of headers.

use super::*;
use crate::testing::{BASIC, CREDENTIAL, House, Plan, exchange};

/// Sends a request line with headers to the TCP door, and checks status and code.
async fn check(house: &House, line: &str, headers: &[&str], wanted: (u16, &str)) {
    let mut stream = house.tcp().await;
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let text = format!("{line} HTTP/1.1\r\n{headers}\r\n");
    let answer = exchange(&mut stream, text.as_bytes()).await.expect("an answer");
    assert_eq!((answer.status, answer.code().as_str()), wanted, "{line} {headers}{answer:?}");
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    if answer.status != 204 {
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
    assert!(!String::from_utf8_lossy(&answer.body).contains(CREDENTIAL));
}

#[tokio::test]
async fn only_this_machine_is_a_host() {
    let house = House::open(Plan::default()).await;
    let auth = format!("authorization: Basic {BASIC}");
    let status = "GET /daemon/status";
    for good in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:65535", "[::1]:4096"] {
        check(&house, status, &[&format!("host: {good}"), &auth], (200, "")).await;
    }
    for bad in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "0.0.0.0",
        "127.0.0.2",
        "agent@localhost",
        "localhost@evil.example",
        "[::1",
        "",
    ] {
        let host = format!("host: {bad}");
        check(&house, status, &[&host, &auth], (403, "foreign_host")).await;
    }
    check(&house, status, &[&auth], (403, "foreign_host")).await;
    let twice = ["host: localhost", "host: localhost", auth.as_str()];
    check(&house, status, &twice, (403, "foreign_host")).await;
    let target = "GET http://evil.example/daemon/status";
    check(&house, target, &["host: localhost", &auth], (403, "foreign_host")).await;
    let target = "GET http://localhost/daemon/status";
    check(&house, target, &["host: localhost", &auth], (200, "")).await;
}

#[tokio::test]
async fn only_the_credential_lets_in_over_tcp() {
    let house = House::open(Plan::default()).await;
    let cases: &[(&str, u16)] = &[
        ("authorization: Basic YWdlbnQ6Y29ycmVjdC1ob3JzZQ==", 200),
        ("authorization: basic YWdlbnQ6Y29ycmVjdC1ob3JzZQ==", 200),
        ("authorization: Bearer correct-horse", 200),
        ("authorization: Bearer correct-horsf", 401),
        ("authorization: Bearer correct-hors", 401),
        ("authorization: Bearer correct-horse2", 401),
        ("authorization: Bearer", 401),
        ("authorization: Bearer ", 401),
        ("authorization: Digest correct-horse", 401),
        // `root:correct-horse`, `agent:`, no colon at all, no base64 at all.
        ("authorization: Basic cm9vdDpjb3JyZWN0LWhvcnNl", 401),
        ("authorization: Basic YWdlbnQ6", 401),
        ("authorization: Basic YWdlbnQ=", 401),
        ("authorization: Basic !!!!", 401),
        ("cookie: token=correct-horse", 401),
    ];
    for (header, status) in cases {
        let code = if *status == 200 { "" } else { "unauthorized" };
        let wanted = (*status, code);
        check(&house, "GET /daemon/status", &["host: localhost", header], wanted).await;
    }
    let none = ["host: localhost"];
    let refused = (401, "unauthorized");
    for query in ["auth_token=YWdlbnQ6Y29ycmVjdC1ob3JzZQ==", "token=correct-horse"] {
        for path in ["/daemon/status", "/events", "/agent/stream/ses_1"] {
            check(&house, &format!("GET {path}?{query}"), &none, refused).await;
        }
    }
    // Whoever is not let in does not learn what there is.
    check(&house, "GET /nothing", &none, refused).await;
    check(&house, "DELETE /daemon/status", &none, refused).await;
    let two = ["host: localhost", "authorization: Bearer correct-horse", "authorization: Bearer x"];
    check(&house, "GET /daemon/status", &two, refused).await;
}

#[tokio::test]
async fn only_allowed_pages_of_a_browser_may_call() {
    let house = House::open(Plan::default()).await;
    let auth = format!("authorization: Basic {BASIC}");
    let origin = (403, "foreign_origin");
    let referer = (403, "foreign_referer");
    let cases: &[(&[&str], (u16, &str))] = &[
        (&["origin: http://app.example"], (200, "")),
        (&["origin: http://app.example", "referer: http://app.example/"], (200, "")),
        (&["origin: http://app.example", "referer: http://evil.example/"], referer),
        (&["origin: http://app.example", "referer: nonsense"], referer),
        (&["origin: http://app.example:81"], origin),
        (&["origin: https://app.example"], origin),
        (&["origin: http://app.example.evil.example"], origin),
        (&["origin: http://sub.app.example"], origin),
        (&["origin: null"], origin),
        (&["origin: "], origin),
        (&["origin: http://127.0.0.1"], origin),
        (&["origin: http://app.example", "origin: http://evil.example"], origin),
        (&["origin: https://site.example"], referer),
        (&["origin: https://site.example", "referer: https://site.example/"], referer),
        (&["origin: https://site.example", "referer: https://site.example/desktop"], (200, "")),
        (
            &["origin: https://site.example", "referer: https://site.example:443/desktop/a"],
            (200, ""),
        ),
        (&["origin: https://site.example", "referer: https://site.example/desktopX"], referer),
        (
            &["origin: https://site.example", "referer: https://site.example/desktop/../blog"],
            referer,
        ),
        (
            &["origin: https://site.example", "referer: https://site.example/desktop/%2E%2e/b"],
            referer,
        ),
        (&["origin: https://site.example", "referer: https://x@site.example/desktop"], referer),
        (&["origin: https://site.example", "referer: http://app.example/"], referer),
        (&["sec-fetch-site: cross-site"], referer),
        (&["sec-fetch-site: none"], referer),
        (&["sec-fetch-site: cross-site", "referer: http://evil.example/"], referer),
        (&["sec-fetch-site: same-site", "referer: http://app.example/x"], (200, "")),
        // Node's fetch sends this one, and is no browser.
        (&["sec-fetch-mode: cors"], (200, "")),
        (&["referer: http://evil.example/"], (200, "")),
    ];
    for (headers, wanted) in cases {
        let mut all = vec!["host: localhost", auth.as_str()];
        all.extend(*headers);
        check(&house, "GET /daemon/status", &all, *wanted).await;
    }
    // An origin does not replace the credential.
    let page = ["host: localhost", "origin: http://app.example"];
    check(&house, "GET /daemon/status", &page, (401, "unauthorized")).await;
}

#[tokio::test]
async fn a_preflight_is_answered_for_allowed_origins_alone() {
    let house = House::open(Plan::default()).await;
    let asks = "access-control-request-method: POST";
    let line = "OPTIONS /agent/run";
    let page = "origin: http://app.example";
    check(&house, line, &["host: localhost", page, asks], (204, "")).await;
    let foreign = ["host: localhost", "origin: http://evil.example", asks];
    check(&house, line, &foreign, (403, "foreign_origin")).await;
    let rebound = ["host: evil.example", page, asks];
    check(&house, line, &rebound, (403, "foreign_host")).await;
    check(&house, line, &["host: localhost", asks], (401, "unauthorized")).await;
    check(&house, line, &["host: localhost", page], (401, "unauthorized")).await;

    let mut stream = house.tcp().await;
    let text = format!("{line} HTTP/1.1\r\nhost: localhost\r\n{page}\r\n{asks}\r\n\r\n");
    let answer = exchange(&mut stream, text.as_bytes()).await.unwrap();
    assert_eq!(answer.header("access-control-allow-origin"), Some("http://app.example"));
    assert_eq!(answer.header("vary"), Some("origin"));
    assert!(answer.header("access-control-allow-credentials").is_none());
    // An allowed page may read why it was refused; a foreign one learns nothing.
    let text = format!("GET /daemon/status HTTP/1.1\r\nhost: localhost\r\n{page}\r\n\r\n");
    let answer = exchange(&mut house.tcp().await, text.as_bytes()).await.unwrap();
    assert_eq!(answer.status, 401);
    assert_eq!(answer.header("access-control-allow-origin"), Some("http://app.example"));
    let text = "GET /x HTTP/1.1\r\nhost: localhost\r\norigin: http://evil.example\r\n\r\n";
    let answer = exchange(&mut house.tcp().await, text.as_bytes()).await.unwrap();
    assert!(answer.header("access-control-allow-origin").is_none());
}

#[tokio::test]
async fn the_carrier_and_the_origin_make_the_caller() {
    let house = House::open(Plan::default()).await;
    let auth = format!("host: localhost\r\nauthorization: Basic {BASIC}");
    let page = "origin: http://app.example";
    for (tcp, headers, caller, carrier) in [
        (true, auth.clone(), "Person", "Tcp"),
        (true, format!("{auth}\r\n{page}"), r#"Page("http://app.example")"#, "Tcp"),
        (false, "host: whatever".to_owned(), "Person", "Socket"),
        (false, format!("host: x\r\n{page}"), r#"Page("http://app.example")"#, "Socket"),
    ] {
        let text = format!("GET /daemon/status HTTP/1.1\r\n{headers}\r\n\r\n");
        let answer = if tcp {
            exchange(&mut house.tcp().await, text.as_bytes()).await.unwrap()
        } else {
            exchange(&mut house.unix().await, text.as_bytes()).await.unwrap()
        };
        let told = answer.json();
        assert_eq!(
            (told["caller"].as_str(), told["carrier"].as_str()),
            (Some(caller), Some(carrier))
        );
    }
    // A relay in front of the socket does not open it to pages.
    let text = "GET /daemon/status HTTP/1.1\r\nhost: x\r\norigin: http://evil.example\r\n\r\n";
    let answer = exchange(&mut house.unix().await, text.as_bytes()).await.unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (403, "foreign_origin"));
}

#[test]
fn no_header_lifts_what_the_kernel_told() {
    let pages = vec![AllowedPage::parse("http://app.example").unwrap()];
    let perimeter = Perimeter::new(&Secret::new(CREDENTIAL.into()), pages);
    let run = vocab::ids::RunId::generate();
    let page = CallerKind::Page("http://app.example".into());
    let check = |told: &CallerKind, headers: &[(&str, &str)], wanted: &CallerKind| {
        let mut request = hyper::Request::builder().uri("/agent/answer").header("host", "x");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let caller = perimeter.admit(&head, &Peer::Socket(told.clone())).unwrap();
        assert_eq!((caller.kind(), caller.carrier()), (wanted, Carrier::Socket), "{headers:?}");
    };
    let bearer = format!("Bearer {CREDENTIAL}");
    let origin = ("origin", "http://app.example");
    let referer = ("referer", "http://app.example/x");
    let browser = ("sec-fetch-site", "same-site");
    let credential = ("authorization", bearer.as_str());
    let claims: [&[(&str, &str)]; 6] = [
        &[],
        &[origin],
        &[origin, referer],
        &[browser, referer],
        &[credential],
        &[credential, origin, referer, browser],
    ];
    for agent in [CallerKind::Agent(None), CallerKind::Agent(Some(run))] {
        for headers in claims {
            check(&agent, headers, &agent);
        }
    }
    // A person's program that speaks for a page may do what the page may.
    check(&CallerKind::Person, &[], &CallerKind::Person);
    check(&CallerKind::Person, &[credential], &CallerKind::Person);
    check(&CallerKind::Person, &[origin], &page);
    check(&CallerKind::Person, &[browser, referer], &page);
}

#[tokio::test]
async fn a_page_is_no_person() {
    let house = House::open(Plan::default()).await;
    let body = r#"{"provider_id":"p","key":"k"}"#;
    let text = |extra: &str| crate::testing::request("POST /secrets/set", extra, body);
    let person = exchange(&mut house.tcp().await, text("").as_bytes()).await.unwrap();
    assert_eq!(person.status, 200);
    let page = text("origin: http://app.example\r\n");
    let page = exchange(&mut house.tcp().await, page.as_bytes()).await.unwrap();
    assert_eq!((page.status, page.code().as_str()), (403, "person_required"));
    assert_eq!(page.problem().effect, vocab::outcome::Effect::NotStarted);
}

#[test]
fn a_page_is_named_by_an_origin_and_perhaps_a_path() {
    for bad in
        ["", "*", "site.example", "ftp://a", "http://", "http://a?b", "http://u@a", "http://*.a"]
    {
        assert!(AllowedPage::parse(bad).is_err(), "{bad:?}");
    }
    let page = AllowedPage::parse("HTTPS://Site.Example:443/desktop/").unwrap();
    assert_eq!(page.origin(), "https://site.example");
    assert!(page.covers("https://site.example/desktop"));
    assert!(!page.is_whole_site());
}
