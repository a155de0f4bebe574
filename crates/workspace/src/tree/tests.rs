//! What is a directory's stream and what is none, in pieces of every size.

use super::*;

fn file(path: &str, content: &[u8]) -> Entry {
    let sha256 = hex(&Sha256::digest(content));
    Entry::File { path: path.into(), mode: 0o644, size: content.len() as u64, sha256 }
}

fn dir(path: &str) -> Entry {
    Entry::Dir { path: path.into(), mode: 0o755 }
}

/// Writes down what it hears.
#[derive(Default)]
struct Heard(Vec<String>);

impl Sink for Heard {
    fn begins(&mut self, manifest: &std::sync::Arc<Manifest>) -> Result<(), Failure> {
        self.0.push(format!("{} entries", manifest.entries().len()));
        Ok(())
    }

    fn file(&mut self, entry: &Entry) -> Result<(), Failure> {
        self.0.push(format!("{}: ", entry.path()));
        Ok(())
    }

    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.0.last_mut().unwrap().push_str(std::str::from_utf8(bytes).unwrap());
        Ok(())
    }
}

fn small() -> (Manifest, Vec<u8>) {
    let link = Entry::Left { path: "a/link".into(), what: "a link to /etc".into() };
    let entries = vec![
        file("b", b""),
        file("a/x", b"one"),
        dir("a"),
        link,
        file("a.txt", b"two"),
        dir("a/d"),
    ];
    let manifest = Manifest::new(entries).unwrap();
    let mut stream = manifest.head().to_vec();
    stream.extend(b"onetwo");
    (manifest, stream)
}

#[test]
fn a_stream_is_read_from_pieces_of_any_size() {
    let (manifest, stream) = small();
    assert_eq!(manifest.stream_bytes(), stream.len() as u64);
    let paths: Vec<&str> = manifest.entries().iter().map(Entry::path).collect();
    assert_eq!(paths, ["a", "a/d", "a/link", "a/x", "a.txt", "b"]);
    for len in [1, 2, 3, 5, 7, 100, stream.len()] {
        let mut reader = Reader::new(manifest.stream_bytes(), manifest.sha256());
        let mut heard = Heard::default();
        for piece in stream.chunks(len) {
            assert!(reader.whole().is_none());
            reader.feed(piece, &mut heard).unwrap();
        }
        assert_eq!(heard.0, ["6 entries", "a/x: one", "a.txt: two", "b: "], "pieces of {len}");
        assert_eq!(reader.whole().map(|whole| whole.as_ref()), Some(&manifest));
        assert_eq!(reader.feed(b"!", &mut heard).unwrap_err().code, "transfer_mismatch");
    }
    let empty = Manifest::new(Vec::new()).unwrap();
    let mut reader = Reader::new(empty.stream_bytes(), empty.sha256());
    reader.feed(&empty.head(), &mut NoSink).unwrap();
    assert!(reader.whole().is_some());
}

#[test]
fn what_is_not_as_it_was_promised_is_refused() {
    let (manifest, stream) = small();
    let check = |size: u64, sha256: String, stream: &[u8], code: &str| {
        let mut reader = Reader::new(size, sha256);
        let fed = reader.feed(stream, &mut NoSink);
        let code_of = fed.err().map(|failure| failure.code);
        assert_eq!(code_of.as_deref(), Some(code));
        assert!(reader.whole().is_none());
    };
    let (size, sha256) = (manifest.stream_bytes(), manifest.sha256());
    check(size, "0".repeat(64), &stream, "transfer_mismatch");
    check(size + 1, sha256.clone(), &stream, "transfer_mismatch");
    for idx in [4, 20, stream.len() - 1, stream.len() - 4] {
        let mut other = stream.clone();
        other[idx] ^= 1;
        check(size, sha256.clone(), &other, "transfer_mismatch");
    }
    check(size, sha256.clone(), &[0, 0, 0, 0], "tree_invalid");
    let too_long = u32::try_from(TREE_MANIFEST_BYTES_MAX).unwrap() + 1;
    check(size, sha256, &too_long.to_be_bytes(), "too_large");
}

#[test]
fn paths_stay_inside_and_stand_behind_their_directories() {
    let check = |entries: Vec<Entry>, expected: &str| {
        let built = Manifest::new(entries.clone()).map(|_| "good");
        assert_eq!(built.unwrap_or_else(|error| error.code()), expected, "{entries:?}");
        let json = serde_json::to_vec(&Entries { entries: entries.clone() }).unwrap();
        let read = Manifest::read(json.into()).map(|_| "good");
        assert_eq!(read.unwrap_or_else(|error| error.code()), expected, "{entries:?}");
    };
    check(vec![dir("a"), file("a/b", b"x")], "good");
    check(vec![file("...", b"")], "good");
    for path in ["", ".", "..", "/a", "a/", "a//b", "../a", "a\0b", "a\\b", "C:\\a", "a/./b"] {
        check(vec![dir("a"), file(path, b"")].split_off(1), "name_invalid");
        check(vec![dir(path)], "name_invalid");
    }
    check(vec![file("a/b", b"")], "name_invalid");
    check(vec![file("a", b""), file("a", b"")], "name_invalid");
    check(vec![file("a", b""), file("a/b", b"")], "name_invalid");
    check(vec![dir("a"), dir("a")], "name_invalid");
    check(vec![Entry::Dir { path: "a".into(), mode: 0o10_000 }], "tree_invalid");
    let unhashed = Entry::File { path: "a".into(), mode: 0, size: 0, sha256: "A".repeat(64) };
    check(vec![unhashed], "tree_invalid");
    // What comes must be in order; what is made is brought into it.
    let json = serde_json::to_vec(&Entries { entries: vec![dir("b"), dir("a")] }).unwrap();
    assert_eq!(Manifest::read(json.into()).unwrap_err().code(), "tree_invalid");
    for text in ["", "{}", "[]", "{\"entries\":[{\"kind\":\"file\"}]}", "{\"entries\":[],\"x\":1}"]
    {
        let read = Manifest::read(Bytes::copy_from_slice(text.as_bytes()));
        assert_eq!(read.unwrap_err().code(), "tree_invalid", "{text}");
    }
}

#[test]
fn a_tree_is_bounded_in_every_way() {
    let many = |n: usize| (0..n).map(|idx| dir(&format!("{idx}"))).collect();
    assert!(Manifest::new(many(TREE_ENTRIES_MAX)).is_ok());
    assert_eq!(Manifest::new(many(TREE_ENTRIES_MAX + 1)).unwrap_err(), TreeError::TooMany);
    let deep = |n: usize| (1..=n).map(|depth| dir(&vec!["d"; depth].join("/"))).collect();
    assert!(Manifest::new(deep(TREE_DEPTH_MAX)).is_ok());
    assert_eq!(Manifest::new(deep(TREE_DEPTH_MAX + 1)).unwrap_err(), TreeError::TooDeep);
    let long = "x".repeat(TREE_MANIFEST_BYTES_MAX / 2);
    let long = vec![dir(&long), dir(&format!("{long}y"))];
    assert_eq!(Manifest::new(long).unwrap_err(), TreeError::TooLong);
}
