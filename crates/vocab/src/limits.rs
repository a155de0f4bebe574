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
    // workspace-local
    READ_SCAN_BYTES_MAX: u64 = 64 << 20, "bytes",
        "how far a file is read only to count its lines; beyond, its size is told instead",
        "workspace_local::a_stream_of_gigabytes_is_read_only_as_far_as_it_is_asked";
    READ_SNIFF_BYTES: usize = 8 * 1024, "bytes",
        "where a NUL byte makes a file binary; what git looks at",
        "workspace_local::bytes_that_are_no_text_are_replaced_and_a_nul_is_told";
    EDIT_PLACES_SHOWN_MAX: usize = 20, "lines",
        "line numbers told of a text that occurs too often; more help nobody",
        "workspace_local::the_places_of_an_ambiguous_text_are_listed_up_to_a_bound";
    DIFF_TEXT_BYTES_MAX: usize = 256 * 1024, "bytes",
        "a patch kept with an outcome; a larger one is read from the file",
        "workspace_local::a_difference_that_is_too_large_is_left_out_and_said_so";
    IMAGE_SIDE_MAX: u32 = 2_000, "pixels",
        "the longest side that every model vendor takes",
        "workspace_local::a_wide_or_heavy_picture_is_shrunk_to_what_models_take";
    IMAGE_BASE64_BYTES_MAX: usize = 4_718_592, "bytes",
        "4.5 MiB of base64; vendors refuse pictures over 5",
        "workspace_local::a_wide_or_heavy_picture_is_shrunk_to_what_models_take";
    IMAGE_DECODE_SIDE_MAX: u32 = 30_000, "pixels",
        "a side beyond any screen or scan; more is an attack on the decoder",
        "workspace_local::a_broken_or_enormous_picture_is_left_out_with_a_reason";
    IMAGE_DECODE_BYTES_MAX: u64 = 256 << 20, "bytes",
        "memory a decoder may take; 64 megapixels",
        "workspace_local::a_broken_or_enormous_picture_is_left_out_with_a_reason";
}
