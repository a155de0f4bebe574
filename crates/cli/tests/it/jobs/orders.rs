//! Who dies, in whatever order: what is told stays true, nothing is left running, and the terminal is
//! given back.

use super::*;
use crate::{attached::Shell, tmux::children};

/// Returns the ways to put letters in a row.
fn orders(letters: &str) -> Vec<String> {
    if letters.is_empty() {
        return vec![String::new()];
    }
    let with_first = |(at, first): (usize, char)| {
        let rest = [&letters[..at], &letters[at + 1..]].concat();
        orders(&rest).into_iter().map(move |order| format!("{first}{order}"))
    };
    letters.char_indices().flat_map(with_first).collect()
}

/// Kills one of them first, and the others in every order.
fn check(first: char, others: &str) {
    let home = Home::new();
    let script = "trap '' HUP TERM; printf '\\033[?1049h\\033[?1003hon'; sleep 1000 & \
                  while :; do wait; done";
    for order in orders(others).iter().map(|order| format!("{first}{order}")) {
        let id = bg(&home, script);
        let shell = Shell::new(&home);
        shell.attach(&id);
        shell.wait_for_modes("mouse_any_flag=1");
        shell.tmux.wait_for("on");
        let client = ProcId::of(shell.tmux.shell_child()).unwrap();
        let guard = ProcId::of(children(client.pid)[0]).unwrap();
        let listed = row(&home, &id);
        let (worker, host) = (process(&listed["pid"]), process(&note(&home, &id)["hostPid"]));
        let exit = home.path("state/jobs").join(&id).join("exit.json");
        for who in order.chars() {
            match who {
                'c' => kill(&client),
                'd' => kill(&daemon(&home)),
                'h' => kill(&host),
                _ => {
                    kill(&worker);
                    // A host that lives sees it and writes it down, whoever dies next.
                    while host.is_alive() && !exit.exists() {
                        std::thread::yield_now();
                    }
                }
            }
        }
        for process in [&host, &worker, &client, &guard] {
            gone(process);
        }
        // What the shell said when its client was killed may have been written to the screen that was left,
        // and the terminal's answer to one that was leaving may have come after everybody was gone.
        shell.tmux.keys(&["Enter"]);
        shell.is_restored();

        let mut ended = row(&home, &id);
        while ended["ended_at"].is_null() {
            // It is listed before what was left of it is ended.
            assert_eq!(ended["state"], "failed", "{order}: {ended}");
            ended = row(&home, &id);
        }
        assert_eq!(ended["state"], "failed", "{order}: {ended}");
        assert!(ended["ended_at"].is_string() && ended["pid"].is_null(), "{order}: {ended}");
        // The program's death was seen where it came before its host's, and written down.
        let is_seen = order.find('w') < order.find('h');
        assert_eq!(!ended["exit"].is_null(), is_seen, "{order}: {ended}");
        let status = ended["status"].as_str().unwrap();
        let words = if is_seen { "killed by SIGKILL" } else { "its host died" };
        assert!(status.contains(words), "{order}: {ended}");
        assert_eq!(marked(&id), Vec::<u32>::new(), "{order}");
    }
}

#[test]
fn the_client_is_killed_first_and_then_the_others_in_every_order() {
    check('c', "dhw");
}

#[test]
fn the_daemon_is_killed_first_and_then_the_others_in_every_order() {
    check('d', "chw");
}

#[test]
fn the_host_is_killed_first_and_then_the_others_in_every_order() {
    check('h', "cdw");
}

#[test]
fn the_worker_is_killed_first_and_then_the_others_in_every_order() {
    check('w', "cdh");
}

/// Returns the processes that carry a job's marker.
fn marked(id: &str) -> Vec<u32> {
    let marker = format!("STEAD_JOB_ID={id}");
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|pair| pair == marker.as_bytes())
    };
    pids.filter(has).collect()
}
