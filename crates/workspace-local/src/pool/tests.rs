//! The pool is bounded, refuses in time, and loses no thread.

use super::*;
use std::sync::mpsc::sync_channel;

#[test]
fn work_runs_on_a_bounded_number_of_threads_and_close_waits_for_it() {
    let pool = Pool::new("test", 2);
    let (enter, entered) = sync_channel(16);
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    for number in 0..8 {
        let (enter, gate) = (enter.clone(), Arc::clone(&gate));
        pool.submit(Box::new(move || {
            enter.send(number).unwrap();
            let mut open = gate.0.lock().unwrap();
            while !*open {
                open = gate.1.wait(open).unwrap();
            }
        }))
        .unwrap();
    }
    let mut first: Vec<i32> = vec![entered.recv().unwrap(), entered.recv().unwrap()];
    first.sort_unstable();
    assert_eq!(first, [0, 1]);
    assert_eq!(pool.threads(), 2);
    assert!(entered.try_recv().is_err());
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    pool.close();
    assert_eq!(entered.try_iter().count(), 6);
    assert_eq!(pool.submit(Box::new(|| {})).unwrap_err().code, "workspace_closed");
}

#[test]
fn who_waits_for_others_does_not_hold_them_up_and_a_panic_ends_no_thread() {
    let pool = Pool::new("test", 1);
    let (send, receive) = sync_channel::<()>(1);
    let (done, all_done) = sync_channel(1);
    pool.submit(Box::new(|| panic!("on purpose"))).unwrap();
    let inner = pool.clone();
    pool.submit(Box::new(move || {
        inner.waiting(|| receive.recv().unwrap()).unwrap();
        done.send(()).unwrap();
    }))
    .unwrap();
    pool.submit(Box::new(move || send.send(()).unwrap())).unwrap();
    all_done.recv().unwrap();
    pool.close();
}

#[test]
fn a_full_queue_refuses_before_anything_starts() {
    let pool = Pool::new("test", 1);
    let (open, gate) = sync_channel::<()>(1);
    let (running, started) = sync_channel::<()>(1);
    pool.submit(Box::new(move || {
        running.send(()).unwrap();
        gate.recv().unwrap();
    }))
    .unwrap();
    started.recv().unwrap();
    for _ in 0..POOL_QUEUE_MAX {
        pool.submit(Box::new(|| {})).unwrap();
    }
    assert_eq!(pool.submit(Box::new(|| {})).unwrap_err().code, "busy");
    open.send(()).unwrap();
    pool.close();
}

#[test]
fn a_thread_without_work_ends_after_a_while() {
    assert_eq!(Pool::new("test", 1).0.idle, Duration::from_millis(POOL_IDLE_MS));
    let pool = Pool::with_idle("test", 2, Duration::ZERO);
    let (done, is_done) = sync_channel(2);
    for _ in 0..2 {
        let done = done.clone();
        pool.submit(Box::new(move || done.send(()).unwrap())).unwrap();
        is_done.recv().unwrap();
    }
    let state = pool.0.ended.wait_while(pool.state(), |state| state.threads > 0).unwrap();
    assert!(!state.closed);
    drop(state);
    // And another one is started when there is work again.
    pool.submit(Box::new(move || done.send(()).unwrap())).unwrap();
    is_done.recv().unwrap();
    pool.close();
}

#[test]
fn only_so_many_threads_wait_for_others() {
    let pool = Pool::new("test", 1);
    let (enter, entered) = sync_channel(POOL_WAITING_THREADS_MAX);
    let (end, ended) = sync_channel(POOL_WAITING_THREADS_MAX + 1);
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let submit = || {
        let (inner, enter, end) = (pool.clone(), enter.clone(), end.clone());
        let gate = Arc::clone(&gate);
        let wait = move || {
            enter.send(()).unwrap();
            drop(gate.1.wait_while(gate.0.lock().unwrap(), |open| !*open));
        };
        let task = move || end.send(inner.waiting(wait).map_err(|failure| failure.code)).unwrap();
        pool.submit(Box::new(task)).unwrap();
    };
    for _ in 0..POOL_WAITING_THREADS_MAX {
        submit();
        entered.recv().unwrap();
    }
    submit();
    assert_eq!(ended.recv().unwrap(), Err("busy".to_owned()));
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    pool.close();
    assert_eq!(ended.try_iter().filter(Result::is_ok).count(), POOL_WAITING_THREADS_MAX);
}
