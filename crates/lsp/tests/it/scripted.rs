//! A language server that plays a script: this test program, started again in another role.
//!
//! The script is a JSON file: `capabilities`, a `log` to which every message is appended, and `on`, lists of actions
//! for the first, second … time that a method comes; the last list repeats.

use std::{
    collections::HashMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
};

use serde_json::{Value, json};

/// Names the script's file.
pub(crate) const SCRIPT: &str = "STEAD_TEST_LSP_SCRIPT";

/// Returns the command that plays a script. The line is moved away from where the test harness writes.
pub(crate) fn command() -> Vec<String> {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let shell = "exec 3>&1 >/dev/null; exec \"$0\" --exact scripted::play --ignored --nocapture";
    ["/bin/sh".to_owned(), "-c".to_owned(), shell.to_owned(), program].to_vec()
}

#[test]
#[ignore = "the scripted server itself, which the other tests start"]
#[expect(clippy::exit, reason = "the role of a program ends here")]
fn play() {
    let script = std::env::var_os(SCRIPT).expect("a script");
    let out = fs::OpenOptions::new().write(true).open("/dev/fd/3").unwrap();
    let code = Player::new(Path::new(&script), Box::new(out)).play(std::io::stdin());
    std::process::exit(code);
}

/// Plays a script on any line.
pub(crate) struct Player {
    script: Value,
    out: Box<dyn Write + Send>,
    times: HashMap<String, usize>,
    uri: Value,
    version: Value,
    id: Value,
    asked: i64,
    hoard: Vec<Vec<u8>>,
}

impl Player {
    pub(crate) fn new(script: &Path, out: Box<dyn Write + Send>) -> Self {
        let script = serde_json::from_slice(&fs::read(script).unwrap()).unwrap();
        let player = Self {
            script,
            out,
            times: HashMap::new(),
            uri: Value::Null,
            version: Value::Null,
            id: Value::Null,
            asked: 0,
            hoard: Vec::new(),
        };
        player.log(&json!({"started": std::process::id()}));
        player
    }

    fn log(&self, message: &Value) {
        let log = self.script["log"].as_str().unwrap();
        let mut file = fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        file.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    /// Plays until the line or the script ends; returns the exit code.
    pub(crate) fn play(mut self, input: impl Read) -> i32 {
        let mut input = BufReader::new(input);
        while let Some(message) = read(&mut input) {
            self.log(&message);
            let Some(method) = message["method"].as_str().map(str::to_owned) else { continue };
            let document = &message["params"]["textDocument"];
            for (kept, name) in [(&mut self.uri, "uri"), (&mut self.version, "version")] {
                if !document[name].is_null() {
                    *kept = document[name].clone();
                }
            }
            self.id = message["id"].clone();
            if let Some(code) = self.react(&method) {
                return code;
            }
        }
        self.log(&json!({"closed": true}));
        0
    }

    fn react(&mut self, method: &str) -> Option<i32> {
        let time = self.times.entry(method.to_owned()).or_default();
        let lists = self.script["on"][method].as_array().cloned().unwrap_or_default();
        let list = lists.get(*time).or(lists.last()).cloned();
        *time += 1;
        if let Some(list) = list {
            return list.as_array().unwrap().iter().find_map(|action| self.act(action));
        }
        let capabilities = self.script["capabilities"].clone();
        match method {
            "initialize" => self.answer(json!({"result": {"capabilities": capabilities}})),
            "shutdown" => self.answer(json!({"result": null})),
            "exit" => return Some(0),
            _ if self.id.is_null() => {}
            _ => self.answer(json!({"error": {"code": -32601, "message": "not in the script"}})),
        }
        None
    }

    fn answer(&mut self, mut message: Value) {
        message["id"] = self.id.clone();
        self.send(message);
    }

    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        fill(&mut message, (&self.uri, &self.version));
        let body = message.to_string();
        // Nobody may listen any more.
        self.out.write_all(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).ok();
        self.out.flush().ok();
    }

    fn act(&mut self, action: &Value) -> Option<i32> {
        let (name, value) = action.as_object().unwrap().iter().next().unwrap();
        match name.as_str() {
            "answer" => self.answer(json!({"result": value})),
            "error" => self.answer(json!({"error": {"code": value[0], "message": value[1]}})),
            "notify" => self.send(json!({"method": value[0], "params": value[1]})),
            "publish" => {
                let mut params = value.clone();
                params["uri"] = json!("$uri");
                self.send(json!({"method": "textDocument/publishDiagnostics", "params": params}));
            }
            "ask" => {
                self.asked += 1;
                let id = format!("s{}", self.asked);
                self.send(json!({"id": id, "method": value[0], "params": value[1]}));
            }
            // Opens a pipe with a name, which waits for whoever opens the other end.
            "wait" => drop(fs::read(value.as_str().unwrap()).unwrap()),
            "raw" => self.out.write_all(value.as_str().unwrap().as_bytes()).unwrap(),
            "bytes" => {
                let bytes: Vec<u8> = serde_json::from_value(value.clone()).unwrap();
                self.out.write_all(&bytes).unwrap();
            }
            "complain" => eprintln!("{}", value.as_str().unwrap()),
            "hoard" => {
                let mib = usize::try_from(value.as_u64().unwrap()).unwrap();
                self.hoard.push(vec![1; mib << 20]);
            }
            "leave" => {
                // It holds the line open after this program has ended.
                let out = fs::OpenOptions::new().write(true).open("/dev/fd/3").unwrap();
                let mut sleep = std::process::Command::new("sleep");
                drop(sleep.arg("600").stdout(out).spawn().unwrap());
            }
            "hang" => loop {
                std::thread::park();
            },
            "exit" => return Some(i32::try_from(value.as_i64().unwrap()).unwrap()),
            other => panic!("{other} is no action"),
        }
        None
    }
}

/// Puts the last document in the place of its names.
fn fill(value: &mut Value, names: (&Value, &Value)) {
    match value {
        Value::String(text) if text == "$uri" => *value = names.0.clone(),
        Value::String(text) if text == "$version" => *value = names.1.clone(),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, names)),
        Value::Object(fields) => fields.values_mut().for_each(|item| fill(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn read(input: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().split_once(": ") {
            Some(("Content-Length", number)) => length = number.parse().ok()?,
            _ if line.trim().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
