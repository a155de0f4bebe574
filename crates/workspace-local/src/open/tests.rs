//! What an open workspace is composed of.

use std::sync::{Condvar, mpsc::sync_channel};

use workspace::grant::ExecGrant;

use super::*;

#[test]
fn each_pool_of_a_workspace_has_the_threads_of_its_row() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::new(dir.path(), dir.path().join("artifacts"));
    options.grants = Grants { exec: Some(ExecGrant::by_owner()), mounts: false };
    let site = Site::open(options).unwrap();
    let check = |pool: &Pool, threads_max: usize| {
        let (enter, entered) = sync_channel(threads_max + 8);
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        for _ in 0..threads_max + 8 {
            let (enter, gate) = (enter.clone(), Arc::clone(&gate));
            let task = move || {
                enter.send(()).unwrap();
                let closed = gate.1.wait_while(gate.0.lock().unwrap(), |open| !*open);
                drop(closed);
            };
            pool.submit(Box::new(task)).unwrap();
        }
        // Those that have a thread come in; nobody leaves meanwhile.
        for _ in 0..threads_max {
            entered.recv().unwrap();
        }
        assert_eq!(pool.threads(), threads_max);
        *gate.0.lock().unwrap() = true;
        gate.1.notify_all();
        pool.close();
    };
    check(&site.files, POOL_FILE_THREADS_MAX);
    check(&site.programs.as_ref().unwrap().pool, POOL_PROGRAM_THREADS_MAX);
}
