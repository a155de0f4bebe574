//! Bounds of terminals: the mirror of a screen and what a program may ask of it.
//!
//! Rows only; what a row is stands in the module above.

limits! { TERMINALS:
    // screen
    SCREEN_COLUMNS_MAX: u16 = 1_000, "cells",
        "width of a terminal; four times a wide monitor's",
        "screen::absurd_sizes_are_brought_into_bounds";
    SCREEN_LINES_MAX: u16 = 500, "lines",
        "height of a terminal; with the width, 12 MB of cells",
        "screen::absurd_sizes_are_brought_into_bounds";
    SCREEN_HISTORY_LINES_MAX: usize = 10_000, "lines",
        "scrollback; what a person scrolls through, and agents write in some hours",
        "screen::the_oldest_lines_go_first";
    SCREEN_HISTORY_BYTES_MAX: usize = 4 << 20, "bytes",
        "compressed scrollback when every line is dense; typical lines take a twentieth",
        "screen::history_of_dense_lines_is_bounded_in_bytes";
    SCREEN_HISTORY_BLOCK_BYTES: usize = 32 << 10, "bytes",
        "lines compressed together; larger blocks gain little and cost idle memory",
        "screen::the_oldest_lines_go_first";
    SCREEN_LINE_BYTES_MAX: usize = 64 << 10, "bytes",
        "a logical line of scrollback with its escapes; a longer one is broken",
        "screen::a_line_without_an_end_is_broken";
    SCREEN_STRING_BYTES_MAX: usize = 64 << 10, "bytes",
        "a control string (OSC, DCS); a longer one is swallowed to its end and ignored",
        "screen::a_control_string_without_an_end_costs_little";
    SCREEN_TITLE_BYTES_MAX: usize = 1_024, "bytes",
        "a window's title; nobody reads more",
        "screen::what_a_program_says_is_cut_to_its_limits";
    SCREEN_TITLES_MAX: usize = 16, "titles",
        "saved titles; xterm keeps ten",
        "screen::stacks_are_bounded";
    SCREEN_KEYBOARD_LEVELS_MAX: usize = 16, "levels",
        "saved keyboard modes of one screen; kitty keeps eight",
        "screen::stacks_are_bounded";
    SCREEN_LINK_BYTES_MAX: usize = 2_048, "bytes",
        "address and id of a hyperlink; browsers refuse more",
        "screen::what_a_program_says_is_cut_to_its_limits";
    SCREEN_LINKS_BYTES_MAX: usize = 1 << 20, "bytes",
        "hyperlinks on the screens together; above it text loses its link, not its letters",
        "screen::many_links_are_bounded_together";
    SCREEN_MARKS_MAX: usize = 16, "marks",
        "combining marks on one cell; the longest emoji has nine",
        "screen::a_cell_carries_only_so_many_marks";
    SCREEN_EVENTS_MAX: usize = 256, "events",
        "events that nobody has taken yet; further ones are dropped",
        "screen::events_and_answers_are_bounded";
    SCREEN_ANSWER_BYTES_MAX: usize = 64 << 10, "bytes",
        "answers that nobody has taken yet; a program that asks so much reads none",
        "screen::events_and_answers_are_bounded";
    SCREEN_NOTICE_BYTES_MAX: usize = 1_024, "bytes",
        "a notification's title or text",
        "screen::what_a_program_says_is_cut_to_its_limits";
    SCREEN_DIRECTORY_BYTES_MAX: usize = 4_096, "bytes",
        "the working directory that a shell tells; the longest path",
        "screen::what_a_program_says_is_cut_to_its_limits";
    SCREEN_REQUEST_BYTES_MAX: usize = 256, "bytes",
        "a question inside a control string (DECRQSS, XTGETTCAP)",
        "screen::what_a_program_says_is_cut_to_its_limits";
    // pty
    FRAME_BYTES_MAX: usize = 16 << 20, "bytes",
        "a frame on a host's socket; a paste of a large file fits",
        "pty::frames_beyond_the_limit_are_refused";
    JOB_FILE_BYTES_MAX: u64 = 1 << 20, "bytes",
        "a job's record with its command and environment; half of what the kernel gives a program",
        "pty::a_record_beyond_the_limit_is_refused";
}
