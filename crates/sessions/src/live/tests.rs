//! Readers of a live run: late, slow, back at a position. No agent runs here.

use vocab::{ids::MessageId, message::Usage};

use super::*;

fn live() -> Arc<Live> {
    let (session, run) = (SessionId::generate(), RunId::generate());
    let mut log = Log::default();
    log.push(Chunk::Start {
        session: session.clone(),
        run: run.clone(),
        message: MessageId::generate(),
    });
    Live::new(session, run, log)
}

/// Reads to the end and folds what was told, as a client does.
async fn fold(reader: &mut Reader, known: &mut Vec<(Chunk, String)>) -> Position {
    let mut at = Position::default();
    loop {
        match reader.next().await {
            Next::Frame(frame) => {
                if let Content::Piece(piece) = &frame.content {
                    at = piece.after;
                    take(known, piece);
                }
            }
            Next::Over => return at,
            Next::Behind => panic!("cut"),
        }
    }
}

fn take(known: &mut Vec<(Chunk, String)>, piece: &Piece) {
    match &piece.told {
        Told::Chunk(chunk @ Chunk::Start { .. }) => *known = vec![(chunk.clone(), String::new())],
        Told::Chunk(chunk) => known.push((chunk.clone(), String::new())),
        Told::Delta { text, .. } => known.last_mut().unwrap().1.push_str(text),
    }
}

fn finish() -> Chunk {
    let state = vocab::message::RunState::Ended(vocab::message::RunEnd::Finished);
    Chunk::Finish { state, usage: Usage::default() }
}

#[tokio::test]
async fn a_reader_that_comes_back_at_any_position_knows_the_same_message() {
    let live = live();
    let mut first = live.reader(Position::default());
    let mut whole = Vec::new();
    let mut cuts = vec![(Position::default(), Vec::new())];
    for part in 0..3 {
        live.chunk(Chunk::TextStart { part });
        for word in ["äh ", "so ", "gut"] {
            live.text(word);
        }
        live.chunk(Chunk::TextEnd { part });
    }
    live.chunk(finish());
    loop {
        match first.next().await {
            Next::Frame(frame) => {
                if let Content::Piece(piece) = &frame.content {
                    take(&mut whole, piece);
                    cuts.push((piece.after, whole.clone()));
                }
            }
            Next::Over => break,
            Next::Behind => panic!("cut"),
        }
    }
    for (position, mut known) in cuts {
        fold(&mut live.reader(position), &mut known).await;
        assert_eq!(known, whole, "{position:?}");
    }
    let nowhere = Position { chunks: 2, bytes: 1 };
    let mut known = vec![];
    fold(&mut live.reader(nowhere), &mut known).await;
    assert_eq!(known, whole, "a position inside a character starts over");
}

#[tokio::test]
async fn live_frames_bound_what_a_slow_reader_costs_and_it_loses_nothing() {
    let live = live();
    let mut slow = live.reader(Position::default());
    live.chunk(Chunk::TextStart { part: 0 });
    for idx in 0..LIVE_FRAMES_MAX * 3 {
        live.text(&format!("{idx} "));
    }
    live.chunk(Chunk::TextEnd { part: 0 });
    live.chunk(finish());
    let mut known = Vec::new();
    fold(&mut slow, &mut known).await;
    let expected: String = (0..LIVE_FRAMES_MAX * 3).map(|idx| format!("{idx} ")).collect();
    assert_eq!(known[1].1, expected);
}

#[tokio::test]
async fn a_reader_behind_its_budget_is_cut() {
    let live = live();
    let mut slow = live.reader(Position::default());
    live.chunk(Chunk::TextStart { part: 0 });
    let text = "x".repeat(READER_BEHIND_BYTES_MAX / LIVE_FRAMES_MAX + 1);
    for _ in 0..LIVE_FRAMES_MAX * 2 {
        live.text(&text);
    }
    let mut cut = false;
    for _ in 0..LIVE_FRAMES_MAX * 2 {
        match slow.next().await {
            Next::Behind => {
                cut = true;
                break;
            }
            Next::Frame(_) => {}
            Next::Over => break,
        }
    }
    assert!(cut);
}

fn picture(bytes: usize) -> Chunk {
    let data = "x".repeat(bytes);
    let image = vocab::outcome::Content::Image { media_type: "image/png".into(), data };
    let outcome = vocab::outcome::Outcome { content: vec![image], details: None, failure: None };
    Chunk::Output { call: CallId("c1".into()), block: None, outcome: Arc::new(outcome) }
}

#[tokio::test]
async fn pictures_count_for_how_far_a_reader_is_behind() {
    for (bytes, is_cut) in [(READER_BEHIND_BYTES_MAX, false), (READER_BEHIND_BYTES_MAX + 1, true)] {
        let live = live();
        let mut slow = live.reader(Position { chunks: 1, bytes: 0 });
        live.chunk(picture(bytes));
        for _ in 0..LIVE_FRAMES_MAX {
            live.chunk(Chunk::StepStart);
        }
        assert_eq!(matches!(slow.next().await, Next::Behind), is_cut, "{bytes}");
    }
}

#[tokio::test]
async fn many_readers_of_a_long_message_hold_a_piece_each() {
    let live = live();
    let long = "ä".repeat(4 << 20);
    live.chunk(Chunk::TextStart { part: 0 });
    live.text(&long);
    live.chunk(Chunk::TextEnd { part: 0 });
    live.chunk(picture(8 << 20));
    live.progress(&CallId("c2".into()), &long);
    let mut readers: Vec<Reader> = (0..100).map(|_| live.reader(Position::default())).collect();
    let mut told = 0;
    let mut at_once: Vec<Arc<Frame>> = Vec::new();
    for _ in 0..READER_PIECE_BYTES_MAX * 3 {
        at_once.clear();
        for reader in &mut readers {
            // Beside its place, a reader holds what all hold: the tails of running calls.
            assert!(reader.progress.iter().all(|frame| Arc::strong_count(frame) > 100));
            let Next::Frame(frame) = reader.next().await else { panic!("no frame") };
            at_once.push(frame);
        }
        match &at_once[0].content {
            Content::Piece(Piece { told: Told::Delta { text, .. }, .. }) => {
                assert!(text.len() <= READER_PIECE_BYTES_MAX);
                told += text.len();
            }
            Content::Piece(Piece { told: Told::Chunk(Chunk::Output { .. }), .. }) => break,
            Content::Piece(_) | Content::Progress { .. } => {}
        }
    }
    assert_eq!(told, long.len());
    assert!(at_once.iter().all(|frame| Arc::ptr_eq(frame, &at_once[0])), "one picture for all");
    at_once.clear();
    assert!(live.lock().large.values().all(|frame| frame.strong_count() == 0), "and then for none");
}

#[tokio::test]
async fn a_run_that_goes_on_is_read_on_by_those_who_were_still_reading() {
    let live = live();
    let mut reader = live.reader(Position { chunks: 1, bytes: 0 });
    live.chunk(Chunk::StepStart);
    live.chunk(finish());
    let mut late = live.reader(Position::default());
    live.reopen();
    for part in 0..2 {
        live.chunk(Chunk::TextStart { part });
        live.text("on");
    }
    live.chunk(finish());
    // Who followed was told the finish, and it holds; who was on the way is told how it went on.
    for (reader, n_chunks) in [(&mut reader, 2), (&mut late, 5)] {
        let mut known = Vec::new();
        fold(reader, &mut known).await;
        assert_eq!(known.len(), n_chunks, "{known:?}");
        assert_eq!(known.last().unwrap().0, finish());
    }
}

#[tokio::test]
async fn progress_keeps_a_bounded_tail_for_those_who_come_late() {
    let live = live();
    let call = CallId("c1".into());
    live.progress(&call, &"a".repeat(PROGRESS_TAIL_BYTES_MAX));
    live.progress(&call, "end");
    let end = live.lock().log.end();
    let mut late = live.reader(end);
    let Next::Frame(frame) = late.next().await else { panic!("no frame") };
    let Content::Progress { text, replaces, .. } = &frame.content else { panic!("no progress") };
    assert!(*replaces && text.ends_with("aend"));
    assert_eq!(text.len(), PROGRESS_TAIL_BYTES_MAX);
}

#[tokio::test]
async fn one_encoding_serves_every_reader() {
    let live = live();
    let (mut one, mut two) = (
        live.reader(Position { chunks: 1, bytes: 0 }),
        live.reader(Position { chunks: 1, bytes: 0 }),
    );
    live.chunk(Chunk::StepStart);
    let mut made = 0;
    for reader in [&mut one, &mut two] {
        let Next::Frame(frame) = reader.next().await else { panic!("no frame") };
        frame.encoded(|_| {
            made += 1;
            Bytes::from_static(b"x")
        });
    }
    assert_eq!(made, 1);
}
