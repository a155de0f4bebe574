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
    // provider
    SSE_LINE_BYTES_MAX: usize = 4 << 20, "bytes",
        "a line of a vendor's stream; the largest known hold a whole encrypted thought",
        "provider::lines_and_events_are_bounded";
    SSE_EVENT_BYTES_MAX: usize = 8 << 20, "bytes",
        "an event of a vendor's stream, its lines together",
        "provider::lines_and_events_are_bounded";
    PROVIDER_ANSWER_BYTES_MAX: usize = 64 << 20, "bytes",
        "one model's answer on the wire; a hundred times the longest that models write",
        "provider::an_endless_answer_is_cut_off";
    PROVIDER_ERROR_BYTES_MAX: usize = 64 << 10, "bytes",
        "the body of a vendor's error; more is a page, not a message",
        "provider::a_long_error_page_is_read_only_so_far";
    PROVIDER_ERROR_CHARS_MAX: usize = 300, "characters",
        "a vendor's words quoted in a failure; a sentence or two",
        "provider::hints_name_the_key_and_pages_lose_their_tags";
    PROVIDER_RETRY_WAIT_MS_MAX: u64 = 60_000, "milliseconds",
        "the longest wait asked by a vendor that is slept; above, a person decides",
        "provider::a_wait_above_the_cap_is_no_retry";
    PROVIDER_CONNECT_SECONDS_MAX: u64 = 15, "seconds",
        "to connect to a vendor; retransmission of a lost first packet included",
        "provider::a_closed_port_is_told_with_its_address";
    PROVIDER_HEADER_SECONDS_MAX: u64 = 120, "seconds",
        "from the request to the first of the answer; local models are loaded meanwhile",
        "provider::silence_has_limits";
    PROVIDER_IDLE_SECONDS_MAX: u64 = 300, "seconds",
        "between two pieces of an answer; models think long without a word",
        "provider::silence_has_limits";
    PROVIDER_ERROR_BODY_SECONDS_MAX: u64 = 10, "seconds",
        "for the body of an error; the status alone says the most",
        "provider::silence_has_limits";
    PROVIDER_MODELS_BYTES_MAX: usize = 8 << 20, "bytes",
        "a list of models; the largest aggregators send about one megabyte",
        "provider::lists_of_models_are_read_in_every_shape";
}
