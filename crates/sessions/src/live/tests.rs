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
