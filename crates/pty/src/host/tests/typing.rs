//! What reaches the program: answers, the focus, sizes.

use rustix::fs::{Mode, OFlags};

use super::*;

/// Shows every byte that comes, so that a test sees what the program was told.
const SHOW: &str = "stty raw -echo; printf on; ";

#[test]
fn a_program_that_asks_while_nobody_looks_is_answered() {
    let mut job =
        Job::sh("stty raw -echo; printf '\\033[c'; dd bs=1 count=9 2>/dev/null | od -An -c");
    assert_eq!(job.end().code, Some(0));
    assert!(job.screen().contains("[   ?   6   2   ;   2   2   c"), "{}", job.screen());
}

#[test]
fn a_client_answers_what_its_program_asks_and_nothing_else_does() {
    let script = "printf '\\033[c'; printf asked; dd bs=1 count=6 2>/dev/null | od -An -c; cat";
    let job = Job::sh(&format!("{SHOW} dd bs=1 count=1 2>/dev/null; {script}"));
    let mut client = job.attach();
    client.wait_for("on");
    // An answer to nobody's question, then a key.
    client.type_in("\x1b[?9cx");
    client.wait_for("asked");
    client.type_in("\x1b[?7c!");
    client.wait_for("[   ?   7   c   !");
}

#[test]
fn a_program_that_wants_to_know_is_told_about_the_focus() {
    let job = Job::sh(&format!("printf '\\033[?1004h'; {SHOW} cat -v"));
    // It began to ask while nobody looked.
    let mut viewer = job.client(json!({"role": "view"}));
    viewer.wait_for("^[[O");
    let mut client = job.attach();
    client.wait_for("^[[I");
    client.send(Kind::Focus, &json!({"focused": false}));
    client.wait_for("^[[O");
    client.send(Kind::Focus, &json!({"focused": true}));
    client.wait_for("^[[I");
    viewer.wait_for("^[[I^[[O^[[I");
    drop(client);
    viewer.wait_for("^[[O");
    // A key from a script makes nobody look.
    job.control().ask(&json!({"op": "send", "text": "y"}));
    viewer.wait_for("y^[[O");
}

#[test]
fn what_was_typed_last_arrives_although_its_client_has_left() {
    const N_TYPED: usize = 200;
    // The program writes for every line, so that those who leave have much to read that they do not.
    let script = "stty -echo; n=0; echo on; while read -r x; do \
                  case $x in end) echo \"got:$n.\";; *) n=$((n + 1)); echo \"<$x>\";; esac; done";
    let job = Job::sh(script);
    let mut watcher = job.client(json!({"role": "view"}));
    watcher.wait_for("on");
    let hello = frame::encode(Kind::Hello, br#"{"role":"attach","cols":100,"rows":20}"#);
    for at in 0..N_TYPED {
        let mut stream = UnixStream::connect(job.files.socket()).unwrap();
        let typed = frame::encode(Kind::Data, format!("{at}\r").as_bytes());
        if at % 2 == 0 {
            stream.write_all(&[&hello[..], &typed].concat()).unwrap();
        } else {
            // The host has answered by then, and nobody reads that.
            stream.write_all(&hello).unwrap();
            while rustix::io::ioctl_fionread(&stream).unwrap() == 0 {
                std::thread::yield_now();
            }
            stream.write_all(&typed).unwrap();
        }
    }
    let mut last = job.attach();
    last.type_in("end\r");
    watcher.wait_for("got:200.");
}

#[test]
fn what_was_typed_beyond_the_hosts_room_arrives_although_its_client_has_left() {
    const N_TYPED: usize = HOST_INPUT_BYTES_MAX + 100_000;
    let script = format!(
        "stty raw -echo; mkfifo $STEAD_JOB_DIR/gate; printf on; read -r _ < $STEAD_JOB_DIR/gate; \
         head -c {N_TYPED} | wc -c; printf end"
    );
    let job = Job::sh(&script);
    let mut watcher = job.client(json!({"role": "view"}));
    watcher.wait_for("on");
    let mut typist = job.attach();
    typist.raw(&frame::encode(Kind::Data, &[b'x'; 4_096]).repeat(N_TYPED / 4_096));
    typist.raw(&frame::encode(Kind::Data, &[b'x'; N_TYPED % 4_096]));
    drop(typist);
    let gate = job.files.dir().join("gate");
    let gate = rustix::fs::open(gate, OFlags::WRONLY, Mode::empty()).unwrap();
    rustix::io::write(&gate, b"open\n").unwrap();
    watcher.wait_for(&N_TYPED.to_string());
    watcher.wait_for("end");
}

#[test]
fn a_burst_of_sizes_is_told_once_and_after_the_picture() {
    let script =
        "trap 'printf \"<%s>\" \"$(stty size)\"' WINCH; echo on; while :; do sleep 0.01; done";
    let job = Job::sh(script);
    let mut client = job.attach();
    // Only a program that has begun hears of a size.
    client.wait_for("on");
    client.send(Kind::Resize, &json!({"cols": 61, "rows": 13}));
    client.wait_for("<13 61>");
    let burst: Vec<u8> = (62..=80)
        .flat_map(|cols| {
            let size = json!({"cols": cols, "rows": 13}).to_string();
            frame::encode(Kind::Resize, size.as_bytes())
        })
        .collect();
    client.raw(&burst);
    loop {
        client.wait_for("<13 ");
        client.wait_for(">");
        if job.control().ask(&json!({"op": "status"}))["cols"] == 80 {
            break;
        }
    }
    assert!(!client.seen.contains("<13 7"), "{}", client.seen);
}

#[test]
fn keys_that_look_like_an_answer_are_held_for_a_moment_only() {
    let job = Job::sh(&format!("{SHOW} cat -v"));
    let mut client = job.attach();
    client.wait_for("on");
    // Nothing follows, so that only the time makes keys of it.
    for (keys, shown) in [("\x1b]1", "^[]1"), ("\x1b_G", "^[_G"), ("\x1b[1", "^[[1")] {
        client.type_in(keys);
        client.wait_for(shown);
    }
    // A looker that types them becomes the writer like by any key.
    let mut other = job.attach();
    other.wait_for("^[[1");
    client.type_in("\x1bP>");
    other.wait_for("^[P>");
    // What was typed last arrives although its client has left.
    client.type_in("\x1b]2");
    drop(client);
    other.wait_for("^[]2");
}

#[test]
fn sizes_and_questions_in_a_row_have_one_turn_each() {
    const N_ASKED: usize = 40;
    let script = "seq 3000; stty -echo; echo on; while read x; do stty size; done";
    let job = Job::sh(script);
    let mut client = job.attach();
    client.wait_for("on");
    // Sizes that are asked between are followed in order, and everything is answered in order.
    let mut blob = Vec::new();
    for at in 0..N_ASKED {
        let size = json!({"cols": 60 + at, "rows": 13}).to_string();
        blob.extend(frame::encode(Kind::Resize, br#"{"cols":200,"rows":50}"#));
        blob.extend(frame::encode(Kind::Resize, size.as_bytes()));
        let op = if at % 2 == 0 { "snapshot" } else { "status" };
        let asked = json!({"op": op, "whole": true}).to_string();
        blob.extend(frame::encode(Kind::Control, asked.as_bytes()));
    }
    blob.extend(frame::encode(Kind::Data, b"\r"));
    client.raw(&blob);
    for at in 0..N_ASKED {
        let reply = client.wait(Kind::Reply);
        match at % 2 {
            0 => assert!(reply["text"].as_str().unwrap().contains("on"), "{at}: {reply}"),
            _ => assert_eq!(reply["cols"], 60 + at, "{reply}"),
        }
    }
    client.wait_for(&format!("13 {}", 60 + N_ASKED - 1));
    // What one that has left had asked is not done in one go either, and others are answered meanwhile.
    client.raw(&frame::encode(Kind::Control, br#"{"op":"snapshot","whole":true}"#).repeat(300));
    drop(client);
    assert_eq!(job.control().ask(&json!({"op": "status"}))["alive"], true);
}

#[test]
fn a_looker_that_tells_many_sizes_gets_the_whole_once_per_turn() {
    let job = Job::sh("echo on; read x");
    let mut viewer = job.client(json!({"role": "view", "cols": 80, "rows": 24}));
    viewer.wait(Kind::Resync);
    let sizes = (10..310).flat_map(|cols| {
        let size = json!({"cols": cols, "rows": 24}).to_string();
        frame::encode(Kind::Resize, size.as_bytes())
    });
    viewer.raw(&sizes.collect::<Vec<u8>>());
    viewer.ask(&json!({"op": "status"}));
    let is_whole = |frame: &&Frame| frame.kind == Kind::Resync;
    assert!(viewer.frames.iter().filter(is_whole).count() < 30, "{:?}", viewer.frames.len());
    viewer.wait(Kind::Resync);
}
