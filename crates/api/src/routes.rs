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
    /// A program on this machine: not a page. What it may touch is its domain's business.
    Program,
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
    /// Its name on the control socket.
    pub op: &'static str,
    /// Who may call it.
    pub needs: Needs,
    /// How it answers.
    pub answers: Answers,
    /// What it does, for the generated description.
    pub about: &'static str,
}

macro_rules! routes {
    ($($endpoint:ident $op:ident $method:ident $path:literal $needs:ident $answers:ident $about:literal;)*) => {
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
                op: stringify!($op),
                needs: Needs::$needs,
                answers: Answers::$answers,
                about: $about,
            },)*
        ];
    };
}

routes! {
    Handshake       ping             Post   "/handshake"                   Caller Json   "Tells protocol, version and capabilities; the only proof that a daemon lives.";
    AgentRun        run              Post   "/agent/run"                   Caller Events "Stores a user message, starts a run and streams it.";
    AgentStream     stream           Get    "/agent/stream/{session}"      Caller Events "Streams the live run of a session from any position.";
    AgentAbort      abort            Post   "/agent/abort"                 Caller Json   "Stops the live run of a session.";
    AgentAnswer     answer           Post   "/agent/answer"                Hand   Json   "Answers a question that a run waits for, and resumes it.";
    Chat            chat             Post   "/chat"                        Caller Events "Takes the AI SDK's default request, runs its last user message and streams the answer.";
    ChatStream      chat_stream      Get    "/chat/{chat}/stream"          Caller Events "Resumes the stream of a chat; 204 when nothing is live.";
    SessionList     session_list     Get    "/sessions"                    Caller Json   "Lists sessions, latest activity first.";
    SessionCreate   session_create   Post   "/sessions"                    Caller Json   "Creates an empty session.";
    SessionShow     session_show     Get    "/sessions/{session}"          Caller Json   "Shows one session.";
    SessionDelete   session_rm       Delete "/sessions/{session}"          Person Json   "Deletes a session, its content and its facts.";
    SessionMessages session_messages Get    "/sessions/{session}/messages" Caller Json   "Shows the messages of a session.";
    JobList         list             Get    "/jobs"                        Caller Json   "Lists jobs and sessions, oldest first; `all` shows those that ended long ago as well, `cwd` only those of a directory: what works there or below, or in a worktree of a repository there or around it.";
    JobDispatch     dispatch         Post   "/jobs"                        Program Json  "Starts a program in a terminal of its own.";
    JobResolve      resolve          Post   "/jobs/resolve"                Caller Json   "Finds the job or session that an id, a name or a part of either means.";
    JobShow         show             Get    "/jobs/{job}"                  Caller Json   "Shows one job, or the row of a session.";
    JobRemove       rm               Delete "/jobs/{job}"                  Program Json  "Ends a job and removes it with its files; the work in its worktree is saved first, unless `discard=true`.";
    JobStop         stop             Post   "/jobs/{job}/stop"             Program Json  "Ends a job's program with all it has started, or the run of a session; waits as long as that should take, and shows how it is then.";
    JobRespawn      respawn          Post   "/jobs/{job}/respawn"          Program Json  "Starts an ended job again, with the same command, place and environment.";
    JobSend         send             Post   "/jobs/{job}/send"             Program Json  "Types a text into a job's terminal.";
    JobUpgrade      upgrade          Post   "/jobs/{job}/upgrade"          Person Json   "Lets a job's host go on as another build of the program; the job does not notice.";
    JobDetach       detach           Post   "/jobs/{job}/detach"           Program Json  "Lets go of every terminal that looks at a job.";
    JobRename       rename           Post   "/jobs/{job}/rename"           Program Json  "Calls a job or a session something else.";
    JobPin          pin              Post   "/jobs/{job}/pin"              Program Json  "Keeps a job or a session in lists, or no longer.";
    JobReport       report           Post   "/jobs/{job}/report"           Caller Json   "Says from inside a job how it is; whoever reports proves itself with the job's token.";
    JobExplain      explain          Get    "/jobs/{job}/explain"          Program Json  "Tells why a job or a session is in the state it is in: what was heard, and how it was weighed.";
    JobScreen       screen           Get    "/jobs/{job}/screen"           Program Json  "Shows a job's screen as text.";
    Events          subscribe        Get    "/events"                      Caller Events "Tells every fact, from a cursor on.";
    WorkspaceList   workspace_list   Get    "/workspaces"                  Caller Json   "Lists registered workspaces and how they are reached.";
    WorkspaceAdd    workspace_add    Post   "/workspaces"                  Person Json   "Adds a workspace once it was opened; one without a runtime as it is.";
    WorkspaceAttach workspace_attach Post   "/workspaces/{workspace}/attach" Person Json "Attaches a runtime to a workspace that was added without one.";
    WorkspaceDetach workspace_detach Post   "/workspaces/{workspace}/detach" Person Json "Lets the runtime of a workspace go.";
    WorkspaceCopy   workspace_copy   Post   "/workspaces/copy"             Person Events "Copies a file or directory between workspaces and this machine, tells how far it has come, and stops when nobody listens any more.";
    WorkspaceRemove workspace_rm     Delete "/workspaces/{workspace}"      Person Json   "Removes a workspace that was added, and its token; what it stands for stays.";
    SecretHas       secret_has       Post   "/secrets/has"                 Caller Json   "Tells whether a key is stored for a provider.";
    SecretSet       secret_set       Post   "/secrets/set"                 Person Json   "Stores the key of a provider.";
    SecretDelete    secret_rm        Post   "/secrets/delete"              Person Json   "Forgets the key of a provider.";
    DaemonStatus    status           Get    "/daemon/status"               Caller Json   "Tells pid, version, addresses, counts and memory.";
    DaemonStop      shutdown         Post   "/daemon/stop"                 Person Json   "Ends jobs unless they are to be kept, drains and ends the daemon.";
}

impl Endpoint {
    /// Returns the row of this operation.
    #[must_use]
    pub fn route(self) -> &'static Route {
        TABLE.iter().find(|route| route.endpoint == self).unwrap_or(&TABLE[0])
    }

    /// Finds the operation that has a name on the control socket.
    #[must_use]
    pub fn named(op: &str) -> Option<Self> {
        TABLE.iter().find(|route| route.op == op).map(|route| route.endpoint)
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
