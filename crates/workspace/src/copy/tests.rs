//! Copies between workspaces in memory; those of real directories and lines are tested where they live.

use bytes::Bytes;
use std::sync::Mutex;

use super::*;
use crate::fake::Fake;

fn end(fake: &Fake, path: &str) -> End {
    End::within(Arc::new(fake.clone()), path)
}

/// Copies, and returns how far it told that it had come.
async fn copied(
    from: &End,
    to: &End,
    options: Options,
) -> (Result<Copied, String>, Vec<(u64, u64, u32)>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = {
        let told = Arc::clone(&told);
        Arc::new(move |one: Progress| {
            told.lock().unwrap().push((one.n_bytes, one.size, one.attempt));
        })
    };
    let cancel = CancellationToken::new();
    let ended = copy((from, to), options, &cancel, tell).await;
    let told = told.lock().unwrap().clone();
    (ended.map_err(|failure| failure.code), told)
}

#[tokio::test]
async fn files_and_directories_are_copied_whole() {
    let (from, to) = (Fake::default(), Fake::new("other"));
    from.put("d/a", "one");
    from.put("d/b/c", "two");
    let options = Options::default();
    let (ended, told) = copied(&end(&from, "d/a"), &end(&to, "x"), options).await;
    assert_eq!(ended.unwrap().written.size, 3);
    assert_eq!(told, [(0, 3, 1), (3, 3, 1)]);
    let again = |options| {
        let ends = (end(&from, "d/a"), end(&to, "x"));
        async move { copied(&ends.0, &ends.1, options).await.0.map(|copied| copied.written.created) }
    };
    assert_eq!(again(options).await, Err("already_exists".to_owned()));
    assert_eq!(again(Options { overwrite: true, ..options }).await, Ok(false));
    let ends = (end(&from, "d"), end(&to, "y"));
    assert_eq!(copied(&ends.0, &ends.1, options).await.0, Err("is_a_directory".to_owned()));
    let recursive = Options { recursive: true, ..options };
    assert_eq!(copied(&ends.0, &ends.1, recursive).await.0.unwrap().shape, Shape::Tree);
    // A directory that is there takes it in under its own name.
    let into = copied(&end(&from, "d/"), &end(&to, "y"), recursive).await.0.unwrap();
    assert_eq!(into.path, "y/d");
    let top = copied(&end(&from, "d/a"), &end(&to, "."), options).await.0.unwrap();
    assert_eq!(top.path, "a");
    let nameless = copied(&end(&from, "."), &end(&to, "."), recursive).await.0;
    assert_eq!(nameless, Err("is_a_directory".to_owned()));
    let cancel = CancellationToken::new();
    let content = to.read(Request { path: "y/b/c".into(), expected: to.id(), cancel }, 10).await;
    assert_eq!(content, Ok(Bytes::from_static(b"two")));
    assert_eq!(copied(&end(&from, "z"), &ends.1, recursive).await.0, Err("not_found".to_owned()));
}
