//! Reading a conversation page by page: bounded, whole, and to an end.

use store::{Batch, Change, Store, rows::MessagePage};
use vocab::{
    ids::{MessageId, SessionId},
    limits::STORE_PAGE_BYTES_MAX,
    message::{Message, Role},
};

use crate::rig::{Rig, change, put, session, started, text, user};

async fn pages(store: &Store, id: &SessionId) -> Vec<MessagePage> {
    let mut pages = vec![store.messages(id, None).await.unwrap()];
    while let Some(next) = pages.last().and_then(|page| page.next) {
        pages.push(store.messages(id, Some(next)).await.unwrap());
    }
    pages
}

fn ids(pages: &[MessagePage]) -> Vec<&MessageId> {
    pages.iter().flat_map(|page| &page.messages).map(|message| &message.id).collect()
}

/// Stores messages of these sizes, and compares how many stand on each page.
async fn check(what: &str, messages: Vec<Message>, expected: &[usize]) {
    let rig = Rig::new();
    let store = rig.store();
    let (id, other) = (session(&store, what).await, session(&store, "other").await);
    for some in messages.chunks(500) {
        for (id, words) in [(&id, None), (&other, Some("not ours"))] {
            let mut batch = Batch::of_session(store.epoch(), id.clone());
            let mine = some.iter().filter(|_| words.is_none()).cloned();
            for message in mine.chain(words.map(user)) {
                batch = batch.change(Change::AddMessage(message));
            }
            store.append(batch.fact(vocab::fact::SessionFact::SessionTitled)).await.unwrap();
        }
    }
    let pages = pages(&store, &id).await;
    let told: Vec<_> = pages.iter().flat_map(|page| page.messages.clone()).collect();
    assert_eq!(told, messages, "{what}");
    assert_eq!(told, store.transcript(&id).await.unwrap().messages, "{what}");
    let counts: Vec<_> = pages.iter().map(|page| page.messages.len()).collect();
    assert_eq!(counts, expected, "{what}");
    for page in pages {
        let alone = page.messages.len() == 1;
        assert!(page.bytes <= STORE_PAGE_BYTES_MAX || alone, "{what}: {}", page.bytes);
    }
}

#[tokio::test]
async fn a_conversation_is_read_in_pages_of_bounded_size() {
    let of = |bytes: usize| user(&"x".repeat(bytes));
    let silent = || Message { parts: Vec::new(), role: Role::Assistant, ..user("") };
    let max = STORE_PAGE_BYTES_MAX;
    check("nothing", vec![], &[0]).await;
    check("one", vec![of(1)], &[1]).await;
    check("silence", (0..513).map(|_| silent()).collect(), &[512, 1]).await;
    check("many", (0..1_000).map(|_| of(1)).collect(), &[366, 366, 268]).await;
    let large = vec![of(1), of(1), of(max), of(1), of(3 * max), of(2 * max), silent()];
    check("large ones stand alone", large, &[2, 1, 1, 1, 1, 1]).await;
    let mut parts = of(1);
    parts.parts = (0..10_000).map(|_| text("x")).collect();
    check("many parts", vec![of(1), parts, of(1)], &[1, 1, 1]).await;
}

#[tokio::test]
async fn pages_end_where_the_conversation_ended_when_the_first_was_read() {
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "goes on").await;
    for _ in 0..3 {
        let large = user(&"x".repeat(STORE_PAGE_BYTES_MAX));
        change(&store, &id, Change::AddMessage(large)).await.unwrap();
    }
    let run = started(&store, &id).await;
    let before = pages(&store, &id).await;
    assert_eq!(before.len(), 4);
    let mut now = vec![store.messages(&id, None).await.unwrap()];
    while let Some(next) = now.last().and_then(|page| page.next) {
        change(&store, &id, Change::AddMessage(user("more"))).await.unwrap();
        change(&store, &id, put(&run, 0, text(&now.len().to_string()))).await.unwrap();
        now.push(store.messages(&id, Some(next)).await.unwrap());
    }
    assert_eq!(ids(&now), ids(&before));
    // Each message is told as it is when its page is read.
    assert_eq!(now[3].messages[0].parts, [text("3")]);
    assert_eq!(ids(&pages(&store, &id).await).len(), 7);
}

#[tokio::test]
async fn the_pages_of_a_deleted_session_are_gone() {
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "short-lived").await;
    for _ in 0..2 {
        let large = user(&"x".repeat(STORE_PAGE_BYTES_MAX));
        change(&store, &id, Change::AddMessage(large)).await.unwrap();
    }
    let first = store.messages(&id, None).await.unwrap();
    store.delete_session(&id).await.unwrap();
    for from in [None, first.next] {
        assert_eq!(store.messages(&id, from).await.unwrap_err().code(), "not_found");
    }
}
