//! What is handed over is understood, or refused.

use super::*;
use crate::record::Began;

fn handed() -> Handed {
    let connection = Connection {
        id: 3,
        role: Some(Role::Attach),
        size: Some((80, 24)),
        is_behind: true,
        unread: vec![5, 0, 0],
        unsent: b"half a frame".to_vec(),
        ..Connection::default()
    };
    Handed {
        from: "0.0.9".into(),
        asker: 3,
        size: (100, 30),
        terminal: terminal(&Persona::unseen()),
        began: Began::default(),
        writer: Some(3),
        is_asked: true,
        n_seen: 9,
        known: Some(Known { now_ms: 7, evidence: Evidence::default() }),
        clients: vec![connection, Connection::default()],
        snapshot: b"\x1b[Hscreen".to_vec(),
        input: b"typed".to_vec(),
    }
}

fn bytes(handed: &Handed) -> Vec<u8> {
    let memory = handed.write().unwrap();
    let mut bytes = vec![0; 1 << 20];
    let n_bytes = rustix::io::pread(&memory, &mut bytes, 0).unwrap();
    bytes.truncate(n_bytes);
    bytes
}

#[test]
fn a_state_comes_back_as_it_was() {
    let handed = handed();
    assert_eq!(Handed::read(handed.write().unwrap()).unwrap(), handed);
}

#[test]
fn a_state_that_is_cut_or_of_another_version_is_refused() {
    let whole = bytes(&handed());
    assert!(Handed::parse(&whole).is_ok());
    for n_bytes in 0..whole.len() {
        assert!(Handed::parse(&whole[..n_bytes]).is_err(), "{n_bytes}");
    }
    let mut other = whole.clone();
    other[11] = 77;
    let error = Handed::parse(&other).unwrap_err().to_string();
    assert!(error.contains("version 77"), "{error}");
}

#[test]
fn what_a_newer_build_says_besides_is_ignored() {
    let whole = bytes(&handed());
    let n_header = u32::from_be_bytes(whole[12..16].try_into().unwrap());
    let (header, bodies) = whole[16..].split_at(usize::try_from(n_header).unwrap());
    let header = String::from_utf8(header.to_vec()).unwrap();
    let longer = header.replace("\"n_seen\":9", "\"n_seen\":9,\"later\":{\"x\":[1]}");
    assert_ne!(header, longer);
    let length = u32::try_from(longer.len()).unwrap().to_be_bytes();
    let longer = [&whole[..12], &length, longer.as_bytes(), bodies].concat();
    assert_eq!(Handed::parse(&longer).unwrap(), handed());
}

#[test]
fn a_state_beyond_its_limit_is_not_handed_over() {
    let mut large = handed();
    large.input = vec![0; HOST_STATE_BYTES_MAX];
    let error = large.write().unwrap_err();
    assert!(matches!(error, HandedError::TooLarge(_)), "{error}");
}
