//! Two hosts, as namespaces of the network: all that is said comes late, packets are lost, the line goes down for half a
//! minute, an address changes; a run of fifty calls does each of them once.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    os::fd::AsFd as _,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Served, TOKEN};
use crate::home::{Home, write};

const N_CALLS: usize = 50;
/// How much later everything arrives, in each direction.
const DELAY: Duration = Duration::from_millis(60);

/// The two hosts, gone with this.
struct Hosts {
    there: String,
    here: String,
}

fn tool(words: &[&str]) {
    let ended = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(ended.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ended.stderr));
}

impl Hosts {
    fn new() -> Self {
        let mark = std::process::id() % 100_000;
        let hosts = Self { there: format!("st{mark}"), here: format!("sh{mark}") };
        let (there, here) = (hosts.there.as_str(), hosts.here.as_str());
        for name in [there, here] {
            tool(&["ip", "netns", "add", name]);
            tool(&["ip", "-n", name, "link", "set", "lo", "up"]);
        }
        tool(&[
            "ip", "link", "add", "eth0", "netns", there, "type", "veth", "peer", "name", "eth0",
            "netns", here,
        ]);
        for (name, address) in [(there, "10.77.0.1/24"), (here, "10.77.0.2/24")] {
            tool(&["ip", "-n", name, "address", "add", address, "dev", "eth0"]);
            tool(&["ip", "-n", name, "link", "set", "eth0", "up"]);
        }
        hosts
    }

    /// Loses so many of a hundred packets.
    fn lose(&self, percent: u32) {
        let drops = format!("numgen random mod 100 < {percent} drop");
        let chain = "type filter hook input priority 0;";
        let rules = format!("table ip lossy {{\n chain input {{\n {chain}\n {drops}\n }}\n}}");
        tool(&["ip", "netns", "exec", &self.there, "nft", &rules]);
    }

    fn lose_nothing(&self) {
        tool(&["ip", "netns", "exec", &self.there, "nft", "delete table ip lossy"]);
    }

    fn on(host: &str, command: &Command) -> Command {
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", host]).arg(command.get_program()).args(command.get_args());
        inside.env_clear();
        inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(dir) = command.get_current_dir() {
            inside.current_dir(dir);
        }
        inside.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        inside
    }
}

/// Waits until then, and for nothing else.
fn wait_until(then: Instant) {
    loop {
        let left = then.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::park_timeout(left);
    }
}

/// Passes on what comes, in order, each piece as much later as it came.
fn pass_late(mut from: TcpStream, mut to: TcpStream) {
    let (said, heard) = mpsc::channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        while let Ok((then, bytes)) = heard.recv() {
            wait_until(then);
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        to.shutdown(Shutdown::Both).ok();
    });
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(n_read @ 1..) = from.read(&mut buffer) {
            if said.send((Instant::now() + DELAY, buffer[..n_read].to_vec())).is_err() {
                break;
            }
        }
    });
}

/// Stands on a host between those who call one port and what is served at another.
fn relay(host: &str, listen: &str, to: &'static str) {
    let (listen, host) = (listen.to_owned(), host.to_owned());
    let (ready, is_ready) = mpsc::channel();
    std::thread::spawn(move || {
        // Only this thread moves there; its sockets stay there wherever they are used.
        let space = fs::File::open(format!("/run/netns/{host}")).unwrap();
        let network = rustix::thread::LinkNameSpaceType::Network;
        rustix::thread::move_into_link_name_space(space.as_fd(), Some(network)).unwrap();
        let listener = TcpListener::bind(listen).unwrap();
        ready.send(()).unwrap();
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(to) else { continue };
            pass_late(client.try_clone().unwrap(), server.try_clone().unwrap());
            pass_late(server, client);
        }
    });
    is_ready.recv().unwrap();
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in [&self.there, &self.here] {
            Command::new("ip").args(["netns", "delete", name]).output().ok();
        }
    }
}

fn story() -> Value {
    let call = |n: usize| {
        let command = format!("echo {n} >>done; seq 1 200; sleep 0.1");
        json!({"blocks": [{"type": "call", "tool": "bash", "input": {"command": command}}]})
    };
    let mut turns: Vec<Value> = (1..=N_CALLS).map(call).collect();
    turns.push(json!({"blocks": [{"type": "text", "text": "all done"}]}));
    json!({ "turns": turns })
}

/// Waits until so many calls have begun, for as long as the run lives.
fn until(home: &Home, n_calls: usize, running: &mut Child) {
    loop {
        let done = fs::read_to_string(home.path("work/done")).unwrap_or_default();
        if done.lines().count() >= n_calls {
            return;
        }
        assert!(running.try_wait().unwrap().is_none(), "the run ended before call {n_calls}");
        std::thread::yield_now();
    }
}

#[test]
fn two_hosts_lose_packets_lines_addresses_and_time_and_no_call() {
    if std::env::var_os("STEAD_TEST_NETWORK").is_none() {
        println!("left out: STEAD_TEST_NETWORK is not set");
        return;
    }
    let home = Home::scripted(&story());
    let hosts = Hosts::new();
    let mut params = rcgen::CertificateParams::new(vec!["10.77.0.1".to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::ExplicitNoCa;
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    write(&home.path("cert.pem"), &certificate.pem());
    write(&home.path("key.pem"), &key.serialize_pem());
    let paths = ["cert.pem", "key.pem"].map(|name| home.path(name).to_str().unwrap().to_owned());
    let flags = [
        "--allow-exec",
        "--listen",
        "10.77.0.1:8787",
        "--tls-cert",
        &paths[0],
        "--tls-key",
        &paths[1],
    ];
    let mut serving = super::command(&home, &flags);
    serving.env("STEAD_WORKSPACE_TOKEN", TOKEN);
    let _served = Served::ready(Hosts::on(&hosts.there, &serving));
    relay(&hosts.there, "10.77.0.1:8788", "10.77.0.1:8787");
    let mut adding = home.command(&[
        "workspace",
        "add",
        "far",
        "--remote",
        "wss://10.77.0.1:8788",
        "--ca",
        &paths[0],
    ]);
    adding.env("STEAD_REMOTE_TOKEN", TOKEN);
    let added = Hosts::on(&hosts.here, &adding).output().unwrap();
    assert!(added.status.success(), "{added:?}");
    let running = home.command(&["run", "--mode", "auto", "-w", "far", "go"]);
    let mut running = Hosts::on(&hosts.here, &running).spawn().unwrap();
    until(&home, 5, &mut running);
    hosts.lose(20);
    until(&home, 15, &mut running);
    hosts.lose_nothing();
    let link = |state: &str| tool(&["ip", "-n", &hosts.here, "link", "set", "eth0", state]);
    link("down");
    let cut = Instant::now();
    while cut.elapsed() < Duration::from_secs(30) {
        std::thread::park_timeout(Duration::from_secs(30).saturating_sub(cut.elapsed()));
    }
    link("up");
    until(&home, 30, &mut running);
    for (verb, address) in [("delete", "10.77.0.2/24"), ("add", "10.77.0.3/24")] {
        tool(&["ip", "-n", &hosts.here, "address", verb, address, "dev", "eth0"]);
    }
    let ended = running.wait_with_output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "all done\n");
    let expected: String = (1..=N_CALLS).map(|n| format!("{n}\n")).collect();
    assert_eq!(fs::read_to_string(home.path("work/done")).unwrap(), expected);
}
