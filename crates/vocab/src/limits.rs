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

    // store
    STORE_QUEUE_BYTES_MAX: usize = 8 << 20, "bytes",
        "batches that wait for the writer; a caller beyond it waits, so a slow disk holds the runs back",
        "store::a_full_queue_holds_the_caller_back";
    STORE_BATCH_BYTES_MAX: usize = 64 << 20, "bytes",
        "one batch; it takes the whole queue when it is larger than the queue, and is refused beyond this",
        "store::what_is_too_large_is_refused";
    STORE_GROUP_BYTES_MAX: usize = 2 << 20, "bytes",
        "what one commit takes on before it ends, so that nobody waits long for the disk",
        "store::many_writers_share_commits";
    STORE_FACT_BYTES_MAX: usize = 4 * 1024, "bytes",
        "a fact is thin; long texts in it are shortened, as the content holds them whole",
        "store::a_long_fact_is_made_thin";
    STORE_PARTS_MAX: usize = 1 << 20, "parts",
        "parts of one message; the index is the low 20 bits of a part's key",
        "store::what_is_too_large_is_refused";
    STORE_LIST_MAX: usize = 200, "sessions",
        "a page of the list; about 100 KB on the wire",
        "store::a_list_pages_through_everything_once";
    STORE_CANDIDATES_MAX: usize = 20, "sessions",
        "what an ambiguous short form names; more would not help a person",
        "store::short_forms_resolve_or_name_the_candidates";
    STORE_FACTS_PAGE_MAX: usize = 1_000, "facts",
        "facts of one read, at most 4 MiB; a reader asks again from the last one",
        "store::facts_are_read_in_pages_after_a_cursor";
    STORE_READS_WAITING_MAX: usize = 64, "reads",
        "reads that wait or run; further readers wait before they queue",
        "store::readers_are_few_and_go_home";
    STORE_READERS_MAX: usize = 2, "threads",
        "each holds a connection with a cache; two keep a long read from blocking a short one",
        "store::readers_are_few_and_go_home";
    STORE_CACHE_KIB_MAX: usize = 1_024, "KiB",
        "page cache of one connection, as the idle daemon has a budget of 15 MB",
        "store::pragmas_hold_the_memory_budget";
    STORE_CHUNK_ROWS_MAX: usize = 1_000, "rows",
        "rows removed in one transaction, a few milliseconds of the writer's time",
        "store::deleting_leaves_one_tombstone";
    STORE_FACTS_KEPT_MAX: u64 = 1_000_000, "facts",
        "facts kept for readers that come back; about 300 MB",
        "store::old_facts_go_and_older_cursors_expire";
    STORE_FACTS_DAYS_MAX: u64 = 30, "days",
        "how long a reader may stay away and still miss nothing",
        "store::old_facts_go_and_older_cursors_expire";
    STORE_WAL_PAGES_MAX: usize = 1_000, "pages",
        "the log's length at which the writer moves it into the database, 4 MB",
        "store::the_log_is_moved_into_the_database_as_it_grows";
}
