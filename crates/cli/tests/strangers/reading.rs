//! The daemon as a client sees it that knows the wire and nothing else: streams as bytes, messages as
//! JSON.

#![expect(clippy::disallowed_methods, reason = "reads what the daemon left for its clients")]

use std::{fs, path::PathBuf, time::Duration};

use api::{
    agent::{RunMessage, RunRequest},
    client::{Address, Client, Target},
    daemon::Registration,
    routes::Endpoint,
};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use stdx::secret::Secret;
use testkit::{
    home::{Home, Serving},
    model_server::{ModelServer, Plan},
    reduce::{Event, Events, Reduced, canonical},
};
use vocab::message::{Mode, Role};

/// How long a whole test may take; its own end is an event.
const WITHIN: Duration = Duration::from_secs(120);

/// A vendor, a home whose configuration names it in two dialects, and a daemon.
pub(crate) struct Place {
    pub(crate) home: Home,
    pub(crate) vendor: ModelServer,
    daemon: Option<Serving>,
}

/// The dialects, as the configuration names their providers.
pub(crate) const DIALECTS: [&str; 2] = ["chat", "messages"];

impl Place {
    pub(crate) fn new(plan: Plan) -> Self {
        let vendor = ModelServer::start(plan).unwrap();
        let home = Home::new(env!("CARGO_BIN_EXE_stead"));
        home.configure(&format!(
            "default_model = \"chat/stand-in\"\n\
             [providers.chat]\napi = \"openai-chat\"\nbase_url = {:?}\n\
             models = [{{ id = \"stand-in\", context_window = 1000000, max_output = 4096 }}]\n\
             [providers.messages]\napi = \"anthropic\"\nbase_url = {:?}\nkey_env = \"STAND_IN_KEY\"\n\
             models = [{{ id = \"stand-in\", context_window = 1000000, max_output = 4096 }}]\n",
            vendor.v1_url(),
            vendor.base_url(),
        ));
        let daemon = Some(home.serve().unwrap());
        let place = Self { home, vendor, daemon };
        place.store_key();
        place
    }

    /// Ends the daemon in order and runs another one.
    pub(crate) fn restart(&mut self) {
        let (status, said) = self.daemon.take().unwrap().terminate();
        assert!(status.success(), "{said}");
        self.daemon = Some(self.home.serve().unwrap());
    }

    /// Ends the daemon as a crash would and runs another one.
    pub(crate) fn crash(&mut self) {
        self.daemon.take().unwrap().crash();
        self.daemon = Some(self.home.serve().unwrap());
    }

    /// Returns where the daemon listens, and its credential.
    pub(crate) fn door(&self) -> (String, String) {
        let state = self.home.state();
        let text = fs::read_to_string(state.join("daemon.json")).unwrap();
        let registration: Registration = serde_json::from_str(&text).unwrap();
        let credential = fs::read_to_string(state.join("daemon.credential")).unwrap();
        (registration.url, credential.trim().to_owned())
    }

    /// Returns a client over loopback TCP.
    pub(crate) fn client(&self) -> Client {
        let (url, credential) = self.door();
        let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Client::new(Address::Tcp { host, credential: Secret::new(credential) })
    }

    /// A client of the socket, on which the kernel holds little for one that does not read.
    pub(crate) fn socket_client(&self) -> Client {
        Client::new(Address::Socket(self.home.runtime().join("daemon.sock")))
    }

    /// The vendor's other dialect wants a key, whatever it is.
    fn store_key(&self) {
        let mut command = self.home.command(&["secrets", "set", "messages"]);
        let path = self.home.root().join("key");
        fs::write(&path, "stand-in-key\n").unwrap();
        command.stdin(fs::File::open(path).unwrap());
        let end = testkit::home::finish(command);
        assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
    }
}

/// Runs a test's story and ends it when it hangs.
pub(crate) fn within(story: impl Future<Output = ()>) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(WITHIN, story).await.expect("in time") });
}

/// Starts a run that asks nobody, in the home's directory, and returns its session.
pub(crate) async fn start(place: &Place, provider: &str, prompt: &str) -> String {
    start_in(place, provider, prompt, Mode::Auto).await
}

/// Starts a run whose questions somebody answers, and returns its session.
pub(crate) async fn start_in(place: &Place, provider: &str, prompt: &str, mode: Mode) -> String {
    let message =
        RunMessage { id: None, role: Role::User, content: Some(prompt.to_owned()), parts: None };
    let request = RunRequest {
        messages: vec![message],
        provider_id: Some(provider.to_owned()),
        model_id: Some("stand-in".to_owned()),
        cwd: Some(place.home.work().display().to_string()),
        mode: Some(mode),
        interactive: Some(true),
        ..RunRequest::default()
    };
    let client = place.client();
    let answer = client.events(Endpoint::AgentRun, Target::default(), Some(&request), None);
    let response = answer.await.unwrap();
    response.headers()["x-stead-session"].to_str().unwrap().to_owned()
}

/// A stream that is being read.
pub(crate) struct Stream {
    body: hyper::body::Incoming,
    events: Events,
}

impl Stream {
    /// Reads the run stream of a session, from an event id on.
    pub(crate) async fn open(client: &Client, session: &str, last_id: Option<&str>) -> Self {
        let target = Target::of(session);
        let answer = client.events::<()>(Endpoint::AgentStream, target, None, last_id).await;
        Self { body: answer.unwrap().into_body(), events: Events::default() }
    }

    /// Returns the next bytes; none at the end, an error when the connection broke.
    pub(crate) async fn bytes(&mut self) -> Result<Option<Vec<u8>>, hyper::Error> {
        match self.body.frame().await {
            None => Ok(None),
            Some(frame) => Ok(frame?.into_data().ok().map(|data| data.to_vec())),
        }
    }

    /// Returns the events that the next bytes complete; none at the end.
    pub(crate) async fn events(&mut self) -> Result<Option<Vec<Event>>, hyper::Error> {
        Ok(self.bytes().await?.map(|bytes| self.events.feed(&bytes)))
    }

    /// Reads to the end.
    pub(crate) async fn finish(mut self, mut known: Reduced) -> Reduced {
        while let Some(events) = self.events().await.unwrap() {
            take(&mut known, &events);
        }
        assert!(known.done, "the stream ended before it was done");
        known
    }
}

/// Takes events into a message.
pub(crate) fn take(known: &mut Reduced, events: &[Event]) {
    for event in events {
        known.event(event).unwrap();
    }
}

/// Reduces bytes of a stream, its last piece perhaps incomplete.
pub(crate) fn reduce(bytes: &[u8]) -> Reduced {
    let mut known = Reduced::default();
    take(&mut known, &Events::default().feed(bytes));
    known
}

/// Returns the last message that is stored of a session, as [`Reduced::canonical`] writes it.
pub(crate) async fn stored(client: &Client, session: &str) -> String {
    let target = Target::of(session);
    let messages = client.json::<(), Vec<Value>>(Endpoint::SessionMessages, target, None);
    let last = messages.await.unwrap().pop().unwrap();
    canonical(&json!({"id": last["id"], "role": last["role"], "parts": last["parts"]}))
}

/// A gate that one command of a run waits for, without looking again and again: a named pipe.
pub(crate) struct Gate(tempfile::TempDir);

impl Gate {
    pub(crate) fn new() -> Self {
        let gate = Self(tempfile::tempdir().unwrap());
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, gate.path(), kind, mode, 0).unwrap();
        gate
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("gate")
    }

    /// Returns the command that waits, with what it says before and after.
    pub(crate) fn waits(&self, before: &str, after: &str) -> String {
        format!("echo {before}; read -r _ < '{}'; echo {after}", self.path().display())
    }

    /// Opens it, once somebody stands before it.
    pub(crate) fn open(&self) {
        fs::write(self.path(), "\n").unwrap();
    }
}
