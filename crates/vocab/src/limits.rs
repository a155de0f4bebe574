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
}
