//! Reading: pages, short forms, transcripts, cursors.

use store::{
    Batch, Change, Cursor, NewSession, Phase, Store, StoreError,
    rows::{Filter, MessagePage},
};
use vocab::{
    fact::SessionFact,
    ids::SessionId,
    limits::{STORE_CANDIDATES_MAX, STORE_FACTS_PAGE_MAX, STORE_LIST_MAX, TOKENS_MAX},
    message::{Mode, RunEnd, RunState, Usage},
};

use crate::rig::{Rig, change, model, put, session, started, state, step_ended, text, user};

async fn titles(store: &Store, filter: Filter) -> Vec<String> {
    let page = store.sessions(filter).await.unwrap();
    page.sessions.into_iter().map(|session| session.title).collect()
}

#[tokio::test]
async fn a_row_tells_everything_about_a_session() {
    let rig = Rig::new();
    let store = rig.store();
    let id = SessionId::generate();
    let new = NewSession {
        alias: Some("chat-1".into()),
        title: "A title".into(),
        workspace: Some("site".into()),
        cwd: Some("/src/site".into()),
        model: Some(model()),
        mode: Mode::Ask,
    };
    let batch = Batch::of_session(store.epoch(), id.clone()).change(Change::CreateSession(new));
    store.append(batch.fact(SessionFact::SessionCreated)).await.unwrap();
    rig.clock.advance(std::time::Duration::from_secs(1));
    let run = started(&store, &id).await;
    let usage = Usage { input: 1, output: 2, reasoning: 3, cache_read: 4, cache_write: 5 };
    change(&store, &id, Change::AddUsage(usage)).await.unwrap();
    change(&store, &id, Change::AddUsage(usage)).await.unwrap();
    let row = store.session(&id).await.unwrap();
    assert_eq!(row.alias.as_deref(), Some("chat-1"));
    assert_eq!(row.place.workspace.as_deref(), Some("site"));
    assert_eq!((row.model.clone(), row.mode), (Some(model()), Mode::Ask));
    assert_eq!(row.updated_at - row.created_at, 1_000);
    assert_eq!((row.messages, row.updated_seq), (1, 4));
    assert_eq!(row.usage.cache_write, 10);
    let mark = row.run.clone().unwrap();
    assert_eq!((mark.id, mark.phase), (run.id.clone(), Phase::Running));
    change(&store, &id, state(&run, RunState::Ended(RunEnd::Aborted))).await.unwrap();
    change(&store, &id, Change::SetTitle("Another".into())).await.unwrap();
    change(&store, &id, Change::SetModel(None)).await.unwrap();
    change(&store, &id, Change::SetMode(Mode::Auto)).await.unwrap();
    let row = store.session_by_alias("chat-1").await.unwrap().unwrap();
    assert_eq!(row.run.unwrap().phase, Phase::Aborted);
    assert_eq!((row.title.as_str(), row.model, row.mode), ("Another", None, Mode::Auto));
    assert_eq!(row.place.workspace.as_deref(), Some("site"));
    assert_eq!(store.session_by_alias("chat-2").await.unwrap(), None);
}

#[tokio::test]
async fn counts_of_tokens_stay_numbers() {
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "counted").await;
    let absurd = Usage { input: u64::MAX, output: 1, cache_read: TOKENS_MAX, ..Usage::default() };
    for _ in 0..3 {
        change(&store, &id, Change::AddUsage(absurd)).await.unwrap();
    }
    let row = store.session(&id).await.unwrap();
    assert_eq!(row.usage.input, TOKENS_MAX);
    assert_eq!((row.usage.output, row.usage.cache_read), (3, TOKENS_MAX));
    // A sum from before there was a bound is read, and takes the next one.
    let raw = rusqlite::Connection::open(rig.path()).unwrap();
    raw.execute("UPDATE sessions SET input = ?1", [i64::MAX]).unwrap();
    assert_eq!(store.session(&id).await.unwrap().usage.input, TOKENS_MAX);
    change(&store, &id, Change::AddUsage(absurd)).await.unwrap();
    let sum: i64 = raw.query_row("SELECT input FROM sessions", [], |row| row.get(0)).unwrap();
    assert_eq!(u64::try_from(sum), Ok(TOKENS_MAX));
}

#[tokio::test]
async fn a_list_pages_through_everything_once() {
    const MANY: usize = STORE_LIST_MAX + 30;
    let rig = Rig::new();
    let store = rig.store();
    for number in 0..MANY {
        session(&store, &format!("number {number:03}")).await;
    }
    let mut seen = Vec::new();
    let mut filter = Filter { limit: 1_000, ..Filter::default() };
    loop {
        let page = store.sessions(filter.clone()).await.unwrap();
        if seen.is_empty() {
            assert_eq!(page.sessions.len(), STORE_LIST_MAX);
        }
        seen.extend(page.sessions.into_iter().map(|session| session.title));
        // What becomes active while somebody pages moves to the front and disturbs nothing behind.
        session(&store, "newcomer").await;
        match page.next {
            Some(next) => filter.after = Some(next),
            None => break,
        }
    }
    let expected: Vec<_> = (0..MANY).rev().map(|number| format!("number {number:03}")).collect();
    assert_eq!(seen, expected);
    assert_eq!(titles(&store, Filter::default()).await.len(), 50);
    let bad = Filter { after: Some("yesterday".into()), ..Filter::default() };
    assert_eq!(store.sessions(bad).await.unwrap_err().code(), "conflict");
}

#[tokio::test]
async fn a_filter_takes_signs_literally() {
    let rig = Rig::new();
    let store = rig.store();
    for title in ["50% done", "50 done", "a_b", "aXb", r"back\slash"] {
        session(&store, title).await;
    }
    for (query, found) in [
        ("0%", vec!["50% done"]),
        ("a_B", vec!["a_b"]),
        (r"k\s", vec![r"back\slash"]),
        ("DONE", vec!["50 done", "50% done"]),
        ("nowhere", vec![]),
    ] {
        let filter = Filter { query: Some(query.into()), ..Filter::default() };
        assert_eq!(titles(&store, filter).await, found, "{query}");
    }
    let filter = Filter { cwd: Some("/".into()), ..Filter::default() };
    assert!(titles(&store, filter).await.is_empty());
}

#[tokio::test]
async fn short_forms_resolve_or_name_the_candidates() {
    let rig = Rig::new();
    let store = rig.store();
    let mut ids = Vec::new();
    for number in 0..STORE_CANDIDATES_MAX + 5 {
        ids.push(session(&store, &format!("fix the parser {number}")).await);
    }
    let found = async |form: &str| match store.fitting(form).await.unwrap() {
        Some(fitting) => fitting.sessions.into_iter().map(|session| session.id).collect(),
        None => Vec::new(),
    };
    let full = ids[3].as_str();
    for form in [full, &full[4..], &full[20..]] {
        assert_eq!(found(form).await, [ids[3].clone()], "{form}");
    }
    // Lists show the last eight digits; the beginning of those is what people type.
    let shown: Vec<&str> = ids.iter().map(|id| &id.as_str()[28..]).collect();
    let five = |form: &str| shown.iter().filter(|known| known.starts_with(&form[..5])).count();
    let typed = shown.iter().position(|form| five(form) == 1).unwrap();
    assert_eq!(found(&shown[typed][..5]).await, [ids[typed].clone()]);
    let first = |digit: char| shown.iter().filter(|form| form.starts_with(digit)).count();
    let shared = shown.iter().filter_map(|form| form.chars().next()).find(|d| first(*d) > 1);
    assert!(1 < found(&shared.unwrap().to_string()).await.len());
    assert_eq!(found("PARSER 17").await, [ids[17].clone()]);
    // A part of a title is as good as one of an id, and the whole title better than either.
    let named = session(&store, &format!("like {}", &full[20..])).await;
    assert_eq!(found(&full[20..]).await, [named, ids[3].clone()]);
    let whole = session(&store, &full[20..]).await;
    assert_eq!(found(&full[20..]).await, [whole]);
    let fits = store.fitting("the parser").await.unwrap().unwrap();
    assert_eq!(
        (fits.fit, fits.sessions.len(), fits.more),
        (vocab::ids::Fit::Part, STORE_CANDIDATES_MAX, 5)
    );
    for form in ["s", "fix the"] {
        let found = found(form).await;
        assert_eq!((found.len(), &found[0]), (STORE_CANDIDATES_MAX, ids.last().unwrap()), "{form}");
    }
    // What all ids begin with names none of them.
    for form in ["", "%", "zzz", "ses", "ses_", "SES_"] {
        assert_eq!(store.fitting(form).await.unwrap(), None, "{form}");
    }
}

#[tokio::test]
async fn messages_are_read_with_their_parts() {
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "json").await;
    assert_eq!(store.messages(&id, None).await.unwrap(), MessagePage::default());
    change(&store, &id, Change::AddMessage(user("quote \" and é\u{0}"))).await.unwrap();
    let run = started(&store, &id).await;
    for idx in 0..3 {
        change(&store, &id, put(&run, idx, text(&format!("part {idx}")))).await.unwrap();
    }
    let read = store.messages(&id, None).await.unwrap();
    assert_eq!(read.messages, store.transcript(&id).await.unwrap().messages);
    assert_eq!((read.messages[1].parts.len(), read.next), (3, None));
    assert_eq!(store.live_runs().await.unwrap()[0].run.id, run.id);
}

#[tokio::test]
async fn facts_are_read_in_pages_after_a_cursor() {
    const N_BATCHES: usize = STORE_FACTS_PAGE_MAX / 100 + 1;
    // Two more tell of the session and its run.
    const MANY: u64 = N_BATCHES as u64 * 100 + 2;
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "facts").await;
    let run = started(&store, &id).await;
    for _ in 0..N_BATCHES {
        let mut batch = Batch::of_session(store.epoch(), id.clone());
        for _ in 0..100 {
            batch = batch.fact(step_ended(&run));
        }
        store.append(batch).await.unwrap();
    }
    let mut cursor = None;
    let mut seen = Vec::new();
    loop {
        let page = store.facts_after(cursor.as_ref(), usize::MAX).await.unwrap();
        if seen.is_empty() {
            assert_eq!(page.len(), STORE_FACTS_PAGE_MAX);
        }
        let Some(last) = page.last() else { break };
        cursor = Some(last.cursor.parse::<Cursor>().unwrap());
        seen.extend(page.iter().map(|event| event.seq));
    }
    assert!(seen.into_iter().eq(1..=MANY));
    assert_eq!(cursor, Some(store.cursor().await.unwrap()));
    let here = store.id().to_owned();
    let elsewhere = Cursor { store_id: "00000000".into(), seq: 5 };
    let ahead = Cursor { store_id: here.clone(), seq: MANY + 1 };
    for bad in [elsewhere, ahead] {
        let expired = store.facts_after(Some(&bad), 10).await;
        let oldest = Cursor { store_id: here.clone(), seq: 0 };
        assert_eq!(expired, Err(StoreError::CursorExpired { oldest }));
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let rig = Rig::new();
    let store = rig.store();
    let id = SessionId::generate();
    let late = Batch::of_session(store.epoch(), id.clone()).fact(SessionFact::SessionTitled);
    for error in [
        store.session(&id).await.unwrap_err(),
        store.transcript(&id).await.unwrap_err(),
        store.messages(&id, None).await.unwrap_err(),
        store.delete_session(&id).await.unwrap_err(),
        store.append(late).await.unwrap_err(),
    ] {
        assert_eq!(error.code(), "not_found");
    }
}
