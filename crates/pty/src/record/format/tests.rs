//! What a file says is not believed.

use proptest::prelude::*;

use super::*;

fn payload(packed: &[u8]) -> &[u8] {
    let mut rest = packed;
    take_record(&mut rest).unwrap().1
}

#[test]
fn a_block_that_claims_to_be_huge_is_not_believed() {
    let claim = |n_bytes: u32| [&[0; 8][..], &[LZ4], &n_bytes.to_le_bytes(), b"\x10a"].concat();
    let huge = u32::try_from(RECORD_FILE_BYTES_MAX).unwrap() + 1;
    assert_eq!(unpack(&claim(huge)), None);
    assert_eq!(unpack(&claim(1)).as_deref(), Some(&b"a"[..]));
    assert_eq!(unpack(b"too short"), None);
    assert_eq!(unpack(&[&[0; 8][..], &[77], b"x"].concat()), None, "an unknown codec");
}

#[test]
fn unknown_kinds_are_skipped() {
    let mut body = Vec::new();
    add(&mut body, Duration::from_micros(5), &Told::Output(b"a"));
    add_bytes(&mut body, 99, Duration::from_micros(7), b"later versions know");
    add(&mut body, Duration::from_micros(1), &Told::Marker("b"));
    let at = Duration::from_secs(1);
    let told = read_block(at, &body);
    let expected = [
        Event { at: at + Duration::from_micros(5), what: What::Output(b"a".to_vec()) },
        Event { at: at + Duration::from_micros(13), what: What::Marker("b".into()) },
    ];
    assert_eq!(told, expected);
}

#[test]
fn other_files_and_versions_are_told_apart() {
    let head = Head { job: JobId::generate(), began: 1, continues: false };
    let mut file = begin(&head);
    let start = after_preamble(&file).unwrap();
    assert_eq!(read_head(payload(&file[start..])), Some(head));
    file[11] = 9;
    assert_eq!(after_preamble(&file), Err(Strange::Version(9)));
    file[0] = b'X';
    assert_eq!(after_preamble(&file), Err(Strange::Foreign));
    assert_eq!(after_preamble(b"STEAD"), Err(Strange::Foreign));
}

proptest! {
    #[test]
    fn any_output_at_any_time_comes_back(
        events in prop::collection::vec((0..u64::MAX >> 20, prop::collection::vec(any::<u8>(), 0..300)), 0..20)
    ) {
        let (mut body, mut at, mut expected) = (Vec::new(), Duration::ZERO, Vec::new());
        for (since, bytes) in &events {
            let since = Duration::from_micros(*since);
            add(&mut body, since, &Told::Output(bytes));
            at += since;
            expected.push(Event { at, what: What::Output(bytes.clone()) });
        }
        let packed = packed(BLOCK, Duration::ZERO, &body);
        prop_assert_eq!(read_block(Duration::ZERO, &unpack(payload(&packed)).unwrap()), expected);
    }

    #[test]
    fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut rest = &bytes[..];
        while let Some((_, payload)) = take_record(&mut rest) {
            let body = unpack(payload).unwrap_or_default();
            read_block(Duration::ZERO, &body);
            read_keyframe(&body);
            read_head(payload);
        }
        read_block(Duration::ZERO, &bytes);
    }
}
