//! Two connections under random messages, against a model of what runs and what ended.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

/// Something that happens to one of two connections.
#[derive(Debug, Clone)]
enum Step {
    Ask(u64, u8),
    Piece(u64, u64, usize),
    Finish(u64),
    Cancel(u64),
    More(u64),
    End(u64),
    Progress(u64, bool),
    Wrong(u64),
    Drain,
    Publish,
    /// The line is gone for good.
    Drop,
    Goodbye,
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let id = 1..12_u64;
    prop_oneof![
        8 => (id.clone(), 0..6_u8).prop_map(|(id, kind)| Step::Ask(id, kind)),
        4 => (id.clone(), 0..4_u64, 1..5_usize).prop_map(|(id, at, len)| Step::Piece(id, at, len)),
        2 => id.clone().prop_map(Step::Finish),
        2 => id.clone().prop_map(Step::Cancel),
        1 => id.clone().prop_map(Step::More),
        8 => id.clone().prop_map(Step::End),
        2 => (id.clone(), any::<bool>()).prop_map(|(id, free)| Step::Progress(id, free)),
        1 => id.prop_map(Step::Wrong),
        1 => Just(Step::Drain),
        1 => Just(Step::Publish),
        1 => Just(Step::Drop),
        1 => Just(Step::Goodbye),
        3 => (1..1_000_u64).prop_map(Step::Pass),
    ]
}

/// A connection, and what a model of it knows.
struct Side {
    connection: Connection,
    running: HashSet<u64>,
    ended: HashSet<u64>,
    /// What was asked under an id of its own while the connection was open.
    asked: HashSet<u64>,
    n_strikes: u32,
    now: Duration,
}

impl Side {
    fn new(runtime: &Gate) -> Self {
        Self {
            connection: connection(runtime),
            running: HashSet::new(),
            ended: HashSet::new(),
            asked: HashSet::new(),
            n_strikes: 0,
            now: NOW,
        }
    }

    fn take(&mut self, step: &Step) {
        let (one, now) = (&mut self.connection, self.now);
        let was_open = !one.is_closed();
        if let (Step::Ask(id, _) | Step::Wrong(id), true) = (step, was_open) {
            self.asked.insert(*id);
        }
        match step {
            Step::Ask(id, kind) => {
                let request = match kind {
                    0 => stat(*id),
                    1 => call(*id, "change"),
                    2 => write_of(*id, 3),
                    3 => upload(*id),
                    4 => write_of(*id, 0),
                    _ => json!({"type": "download", "id": id, "workspace": "fake", "path": "a"}),
                };
                one.hear(&message(&request), now);
            }
            Step::Piece(id, at, len) => one.hear(&piece_frame(*id, *at, &vec![0; *len]), now),
            Step::Finish(id) => one.hear(&message(&json!({"type": "finish", "id": id})), now),
            Step::Cancel(id) => one.hear(&message(&json!({"type": "cancel", "id": id})), now),
            Step::More(id) => {
                one.hear(&message(&json!({"type": "more", "id": id, "bytes": 9})), now);
            }
            // Work ends only where it began.
            Step::End(id) if self.running.contains(id) => done(one, *id),
            Step::End(_) => {}
            Step::Progress(id, free) => {
                let space = if *free { Space::Free } else { Space::Full };
                one.progress(*id, "text".into(), space);
            }
            Step::Wrong(id) => one.hear(&message(&with(stat(*id), "x", json!(1))), now),
            Step::Drop => one.abandon(),
            Step::Goodbye => one.hear(&message(&json!({"type": "goodbye"})), now),
            // Far less than a tombstone lasts.
            Step::Pass(ms) => self.now += Duration::from_millis(*ms),
            Step::Drain => one.drain(now),
            Step::Publish => {
                let fake = Fake::default();
                fake.publish([]);
                let catalog = Arc::new(offer::body(&fake.catalog()));
                one.publish(Served { catalog, exec: true }, now);
            }
        }
        let mut closed = !was_open;
        for want in wanted(&mut self.connection) {
            if let Some(id) = want["start"].as_u64() {
                assert!(!self.ended.contains(&id), "{id} begins after its end");
                assert!(self.running.insert(id), "{id} begins twice");
            }
            if let Some(id) = want["cancel"].as_u64() {
                assert!(self.running.contains(&id), "{id} of another");
            }
            if matches!(want["type"].as_str(), Some("result" | "error" | "outcome")) {
                let id = want["id"].as_u64().unwrap();
                assert!(self.ended.insert(id), "{id} ends twice");
                self.running.remove(&id);
                assert!(!closed, "something is said after the end");
                self.n_strikes += u32::from(want["code"] == "invalid_request");
            }
            closed |= want.get("close").is_some();
        }
        assert!(self.running.is_disjoint(&self.ended));
        assert!(self.n_strikes < REMOTE_STRIKES_MAX || self.connection.is_closed(), "strikes");
    }

    /// Ends what runs; on an open connection every request then has its one outcome.
    fn finish(&mut self) {
        if !self.connection.is_closed() {
            for id in self.asked.clone() {
                if !self.ended.contains(&id) && !self.running.contains(&id) {
                    // Its content never came, or an earlier one's did not.
                    self.take(&Step::Cancel(id));
                }
            }
        }
        let is_open = !self.connection.is_closed();
        while let Some(id) = self.running.iter().next().copied() {
            self.take(&Step::End(id));
            // On a closed connection nobody hears of it.
            self.running.remove(&id);
        }
        assert!(!is_open || self.ended == self.asked, "{:?} {:?}", self.ended, self.asked);
        self.take(&Step::Drop);
        assert!(self.connection.is_idle());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn two_connections_never_touch_each_other_and_give_everything_back(
        steps in prop::collection::vec((any::<bool>(), step()), 1..120)
    ) {
        let runtime = Gate::new(Places::of_runtime());
        let mut sides = [Side::new(&runtime), Side::new(&runtime)];
        for (first, step) in &steps {
            let [one, two] = &mut sides;
            let (this, other) = if *first { (one, two) } else { (two, one) };
            let before = (other.running.clone(), other.connection.is_closed());
            this.take(step);
            prop_assert!(wanted(&mut other.connection).is_empty());
            prop_assert_eq!(before, (other.running.clone(), other.connection.is_closed()));
        }
        for side in &mut sides {
            side.finish();
        }
        for room in [Room::Calls, Room::Uploads, Room::Downloads, Room::Gathered] {
            prop_assert_eq!(runtime.taken(room), 0);
        }
    }
}
