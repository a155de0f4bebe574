//! Every bound of the program in one table: number, unit, reason, and the test that meets it.
//!
//! A queue, body, frame, run or file without a row here is a bug. `cargo xtask tidy` prints the table
//! into `docs/limits.md` and checks that each named test exists.

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// The constant's name.
    pub name: &'static str,
    /// The number.
    pub value: u64,
    /// What it counts.
    pub unit: &'static str,
    /// Why this number.
    pub because: &'static str,
    /// `crate::function` of the test that meets it.
    pub test: &'static str,
}

macro_rules! limits {
    ($($name:ident: $type:ty = $value:expr, $unit:literal, $because:literal, $test:literal;)*) => {
        $(
            #[doc = $because]
            pub const $name: $type = $value;
        )*

        /// The whole table, in reading order.
        pub const TABLE: &[Limit] = &[
            $(Limit {
                name: stringify!($name),
                value: $value as u64,
                unit: $unit,
                because: $because,
                test: $test,
            },)*
        ];
    };
}

limits! {
    TOOL_TEXT_LINES_MAX: usize = 2_000, "lines",
        "a tool's text for a model; more is kept as an artifact or read in pieces",
        "workspace_local::truncate_stops_at_whichever_limit_comes_first";
    TOOL_TEXT_BYTES_MAX: usize = 50 * 1024, "bytes",
        "a tool's text for a model; about 12,000 tokens, what a context can bear many times",
        "workspace_local::truncate_stops_at_whichever_limit_comes_first";

    // gateway
    CONNECTIONS_MAX: usize = 1_536, "connections per door",
        "a thousand stream clients with room for the rest; more are answered 503",
        "gateway::idle_connections_over_the_limit_are_told_so";
    CONNECTIONS_REFUSED_MAX: usize = 64, "connections",
        "how many surplus connections are told so at a time; the rest are closed without a word",
        "gateway::idle_connections_over_the_limit_are_told_so";
    HEAD_BYTES_MAX: usize = 32 * 1024, "bytes",
        "a request's head; browsers send the cookies of every port of localhost",
        "gateway::garbage_and_oversized_heads_get_a_problem";
    HEADERS_MAX: usize = 100, "headers",
        "headers of a request; browsers send about twenty",
        "gateway::garbage_and_oversized_heads_get_a_problem";
    HEAD_READ_MS_MAX: u64 = 30_000, "ms",
        "how long a head may take, and how long an idle connection is kept",
        "gateway::a_slow_head_is_cut";
    BODY_READ_MS_MAX: u64 = 30_000, "ms",
        "how long a body may take to arrive on this machine",
        "gateway::a_slow_body_is_cut";
    REQUEST_BODY_BYTES_MAX: usize = 32 * 1024 * 1024, "bytes",
        "a conversation with pictures, as the AI SDK sends it whole each time",
        "gateway::oversized_bodies_are_refused";
    REQUEST_BODIES_BYTES_MAX: usize = 128 * 1024 * 1024, "bytes",
        "bodies of all requests in memory at once",
        "gateway::bodies_share_one_budget";
    JSON_DEPTH_MAX: usize = 127, "levels",
        "nesting of a JSON body; the parser recurses",
        "gateway::nesting_is_bounded";
    PATH_PARAMETER_BYTES_MAX: usize = 256, "bytes",
        "a name in a path; ids are 36",
        "gateway::every_row_answers_its_method_alone";
    STREAM_HEARTBEAT_MS: u64 = 15_000, "ms",
        "between two comments on a quiet stream; proxies drop what is silent for a minute",
        "gateway::a_quiet_stream_has_heartbeats";
    STREAM_BACKLOG_BYTES_MAX: usize = 64 * 1024, "bytes",
        "what a connection holds for a client that does not read; its source waits beyond that",
        "gateway::a_client_that_does_not_read_is_cut_and_slows_nobody";
    STREAM_STALL_MS_MAX: u64 = 30_000, "ms",
        "how long a client may take to read one backlog; a slower one is cut and resumes by position",
        "gateway::a_client_that_does_not_read_is_cut_and_slows_nobody";
    LINGER_BYTES_MAX: usize = 64 * 1024 * 1024, "bytes",
        "what is read and thrown away after a refusal, so that its reader gets to see it",
        "gateway::oversized_bodies_are_refused";
    LINGER_MS_MAX: u64 = 1_000, "ms",
        "how long a refused client may go on sending",
        "gateway::oversized_bodies_are_refused";
    ANCESTORS_MAX: usize = 64, "processes",
        "how far up a caller's family is looked at; shells rarely nest ten deep",
        "gateway::a_child_of_the_daemon_is_an_agent";
}
