//! Lanes under many threads.

use std::sync::{Arc, Mutex, mpsc::sync_channel};

use super::*;

fn key(name: &str) -> LaneKey {
    LaneKey { dir: FileId { dev: u64::MAX, ino: 1 }, name: name.into() }
}

#[test]
fn changes_of_one_file_run_in_the_order_of_their_requests() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let tickets: Vec<_> = (0..16).map(|_| register(key("ordered")).unwrap()).collect();
    std::thread::scope(|scope| {
        // Started backwards, so that only the registration can explain the order.
        for (number, ticket) in tickets.into_iter().enumerate().rev() {
            let order = Arc::clone(&order);
            scope.spawn(move || {
                let _guard = ticket.wait();
                order.lock().unwrap().push(number);
            });
        }
    });
    assert_eq!(*order.lock().unwrap(), (0..16).collect::<Vec<_>>());
}

#[test]
fn other_files_do_not_wait() {
    let _first = register(key("a")).unwrap().wait();
    let _second = register(key("b")).unwrap().wait();
    assert!(register(key("a")).unwrap().try_enter().is_err());
}

#[test]
fn a_dropped_ticket_lets_the_next_one_in() {
    let first = register(key("dropped")).unwrap();
    let second = register(key("dropped")).unwrap();
    let (sender, receiver) = sync_channel(1);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _guard = second.wait();
            sender.send(()).unwrap();
        });
        drop(first);
        receiver.recv().unwrap();
    });
    assert!(!table().lanes.contains_key(&key("dropped")));
}

#[test]
fn a_full_lane_refuses() {
    let tickets: Vec<_> = (0..LANE_WAITERS_MAX).map(|_| register(key("full")).unwrap()).collect();
    assert_eq!(register(key("full")).unwrap_err(), Reason::LaneFull);
    drop(tickets);
    assert!(register(key("full")).is_ok());
}

#[test]
fn whoever_waited_sees_what_happened_before() {
    let base = tempfile::tempdir().unwrap();
    let root = crate::Root::open(base.path(), crate::RootOptions::default()).unwrap();
    let path = root.parse("count").unwrap();
    let threads = 8;
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..20 {
                    let (place, _guard) = root.locate(&path).unwrap().enter().unwrap();
                    let old = place.existing().map_or(0, |meta| usize::try_from(meta.len).unwrap());
                    let options = crate::PublishOptions::default();
                    place.publish(&vec![b'x'; old + 1], options).unwrap();
                }
            });
        }
    });
    assert_eq!(root.stat(&path).unwrap().len, threads * 20);
}
