//! The whole surface on one page. A row without a handler, or a handler without a row, does not build.

/// The version of the HTTP contract. A client of another version is told so by the handshake.
pub const PROTOCOL: u32 = 1;

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// GET
    Get,
    /// POST
    Post,
    /// DELETE
    Delete,
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Any caller that passed the perimeter.
    Caller,
    /// Somebody's own hand: a person's program or a page of an allowed origin, not a process of a run.
    Hand,
    /// A person's own program: neither a process of a run nor a page.
    Person,
}

/// How a route answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// One JSON document.
    Json,
    /// A stream of server-sent events.
    Events,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// Which operation.
    pub endpoint: Endpoint,
    /// Its method.
    pub method: Method,
    /// Its path, with parameters in braces.
    pub path: &'static str,
    /// Who may call it.
    pub needs: Needs,
    /// How it answers.
    pub answers: Answers,
    /// What it does, for the generated description.
    pub about: &'static str,
}

macro_rules! routes {
    ($($endpoint:ident $method:ident $path:literal $needs:ident $answers:ident $about:literal;)*) => {
        /// An operation of the daemon.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Endpoint {
            $(#[doc = $about] $endpoint,)*
        }

        /// All rows, in the order of the description.
        pub const TABLE: &[Route] = &[
            $(Route {
                endpoint: Endpoint::$endpoint,
                method: Method::$method,
                path: $path,
                needs: Needs::$needs,
                answers: Answers::$answers,
                about: $about,
            },)*
        ];
    };
}

routes! {
    Handshake      Post   "/handshake"              Caller Json   "Tells protocol, version and capabilities; the only proof that a daemon lives.";
    AgentRun       Post   "/agent/run"              Caller Events "Stores a user message, starts a run and streams it.";
    AgentStream    Get    "/agent/stream/{session}" Caller Events "Streams the live run of a session from any position.";
    AgentAbort     Post   "/agent/abort"            Caller Json   "Stops the live run of a session.";
    AgentAnswer    Post   "/agent/answer"           Hand   Json   "Answers a question that a run waits for, and resumes it.";
    Chat           Post   "/chat"                   Caller Events "Takes the AI SDK's default request, runs its last user message and streams the answer.";
    ChatStream     Get    "/chat/{chat}/stream"     Caller Events "Resumes the stream of a chat; 204 when nothing is live.";
    SessionList    Get    "/sessions"               Caller Json   "Lists sessions, latest activity first.";
    SessionCreate  Post   "/sessions"               Caller Json   "Creates an empty session.";
    SessionShow    Get    "/sessions/{session}"     Caller Json   "Shows one session.";
    SessionDelete  Delete "/sessions/{session}"     Person Json   "Deletes a session, its content and its facts.";
    SessionMessages Get   "/sessions/{session}/messages" Caller Json "Shows the messages of a session.";
    Events         Get    "/events"                 Caller Events "Tells every fact, from a cursor on.";
    SecretHas      Post   "/secrets/has"            Caller Json   "Tells whether a key is stored for a provider.";
    SecretSet      Post   "/secrets/set"            Person Json   "Stores the key of a provider.";
    SecretDelete   Post   "/secrets/delete"         Person Json   "Forgets the key of a provider.";
    DaemonStatus   Get    "/daemon/status"          Caller Json   "Tells pid, version, addresses, counts and memory.";
    DaemonStop     Post   "/daemon/stop"            Person Json   "Drains and ends the daemon.";
}

impl Endpoint {
    /// Returns the row of this operation.
    #[must_use]
    pub fn route(self) -> &'static Route {
        TABLE.iter().find(|route| route.endpoint == self).unwrap_or(&TABLE[0])
    }

    /// Returns the path with its one parameter filled in, percent-encoded.
    #[must_use]
    pub fn path_with(self, parameter: &str) -> String {
        let path = self.route().path;
        match (path.find('{'), path.find('}')) {
            (Some(open), Some(close)) => {
                format!("{}{}{}", &path[..open], encode(parameter), &path[close + 1..])
            }
            _ => path.to_owned(),
        }
    }
}

/// Percent-encodes everything that is not unreserved (RFC 3986 §2.3).
#[must_use]
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
