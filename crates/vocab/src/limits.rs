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

    // agent
    STEPS_MAX: u32 = 200, "model calls of a run",
        "a run that needs more is lost in a circle; a person can tell it to go on",
        "agent::the_step_limit_ends_a_run_with_a_note";
    CALLS_AT_ONCE_MAX: usize = 8, "calls",
        "calls of one batch that run side by side; more would fight over disk and cores",
        "agent::no_more_calls_run_at_once_than_allowed";
    TEXT_STORE_MS: u64 = 1_000, "milliseconds",
        "how much of a model's words may be lost when the daemon dies",
        "agent::text_is_stored_at_intervals_of_time_and_size";
    TEXT_STORE_BYTES: usize = 16 * 1024, "bytes",
        "how much of a model's words may be lost when the daemon dies",
        "agent::text_is_stored_at_intervals_of_time_and_size";
    ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024, "bytes",
        "one model answer in memory; ten times what any model writes at once",
        "agent::an_endless_answer_is_cut_off";
    RETRY_ATTEMPTS_MAX: u32 = 3, "attempts",
        "of one model call; what fails three times needs a person",
        "agent::retries_end_and_the_run_fails";
    RETRY_WAIT_MS_BASE: u64 = 2_000, "milliseconds",
        "the wait before the second attempt of a model call; it doubles",
        "agent::retries_end_and_the_run_fails";
    RETRY_WAIT_MS_MAX: u64 = 60_000, "milliseconds",
        "the longest wait a provider may ask for; a longer one is a failure said at once",
        "agent::a_wait_beyond_bearing_fails_at_once";
    ABORT_WAIT_MS: u64 = 10_000, "milliseconds",
        "how long calls of a stopped run may take to end before nobody can tell what they did",
        "agent::an_abort_does_not_wait_for_ever_for_a_call";
    END_RUN_WAIT_MS: u64 = 10_000, "milliseconds",
        "how long the end of a run waits for what it left running",
        "agent::the_end_of_a_run_does_not_wait_for_ever_for_its_tools";
    PROMPT_TEXT_BYTES_MAX: usize = 256 * 1024, "bytes",
        "one text of a prompt, about 64,000 tokens; no context bears several of them",
        "agent::every_text_of_a_prompt_is_bounded";
    PROMPT_IMAGE_BYTES_MAX: usize = 7 * 1024 * 1024, "bytes",
        "base64 of one picture of a prompt; providers refuse pictures over 5 MiB",
        "agent::pictures_go_only_where_they_can_be_seen";
    CALL_NAME_BYTES_MAX: usize = 200, "bytes",
        "a call's id and its tool's name, as models write them; both stand in facts",
        "agent::names_that_models_write_are_bounded";
    RUN_FAILURE_BYTES_MAX: usize = 800, "bytes",
        "message and hint of a failed run, each; facts are thin",
        "agent::a_long_failure_is_cut_in_the_fact";
}
