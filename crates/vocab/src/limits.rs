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
    // sandbox
    CHILD_TIMEOUT_MS_MAX: u64 = 2_147_483_647, "ms",
        "what a timer counts on every side of every wire; about 24 days",
        "sandbox::a_timeout_outside_its_range_is_refused";
    CHILD_GRACE_MS: u64 = 2_000, "ms",
        "time to end after the polite signal; builds remove their temporary files in it",
        "sandbox::stopping_kills_the_tree_and_an_escaped_grandchild_that_ignores_term";
    CHILD_SILENCE_MS: u64 = 100, "ms",
        "silence after the child's end that means no more output; each chunk begins it anew",
        "sandbox::a_background_child_that_keeps_the_pipe_is_a_survivor";
    CHILD_OVERTIME_MS: u64 = 5_000, "ms",
        "longest reading after the child's end when a descendant never falls silent",
        "sandbox::a_writer_that_never_falls_silent_is_left_after_a_while";
    CHILD_KILL_ROUND_MS: u64 = 500, "ms",
        "time for killed processes to be gone before the next look",
        "sandbox::stopping_kills_the_tree_and_an_escaped_grandchild_that_ignores_term";
    CHILD_KILL_ROUNDS_MAX: usize = 32, "rounds",
        "looks for processes that appear while others are killed",
        "sandbox::ending_a_scope_kills_everything_in_it";
    CHILD_CHUNK_BYTES: usize = 64 * 1024, "bytes",
        "one read of output; a pipe holds as much unless it is enlarged",
        "sandbox::twenty_megabytes_arrive_whole";
    CHILD_CHUNKS_PER_WAKE: usize = 16, "chunks",
        "reads before a wish to stop is looked at again",
        "sandbox::cancelling_a_running_command_stops_it";
    CHILD_PIPE_BYTES: usize = 512 * 1024, "bytes",
        "pipe of a fast writer; half of what an ordinary user may ask for",
        "sandbox::twenty_megabytes_arrive_whole";
    CHILD_REST_READS_MAX: usize = 16, "reads",
        "wakes' worth of chunks read after the end; more than a full pipe",
        "sandbox::twenty_megabytes_arrive_whole";
    CHILD_SURVIVORS_LISTED_MAX: usize = 32, "processes",
        "descendants named in a report; all of them are kept track of",
        "sandbox::no_more_survivors_are_named_than_a_report_can_bear";
    CHILD_COMMAND_SHOWN_BYTES_MAX: usize = 200, "bytes",
        "command line of a descendant in a report",
        "sandbox::a_long_command_line_is_shortened";
    CHILD_ENVIRON_READ_BYTES_MAX: u64 = 2 << 20, "bytes",
        "environment read to find a marker; what the kernel lets a program be given",
        "sandbox::a_marker_is_found_behind_a_large_environment";
    CHILD_DRAINED_PIPES_MAX: usize = 64, "pipes",
        "pipes of survivors a scope reads on; the next one is closed",
        "sandbox::no_more_pipes_are_drained_than_the_limit";
    CHILD_DRAIN_PAUSE_MS: u64 = 10, "ms",
        "pause between reads of what nobody wants; bounds a chatty survivor to a few MB/s",
        "sandbox::a_survivor_may_go_on_writing";
}
