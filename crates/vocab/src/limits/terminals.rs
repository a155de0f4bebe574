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
    SCREEN_STATUS_BYTES_MAX: usize = 4_089, "bytes",
        "a report of a program's state (OSC 7501), as the protocol bounds it, without what encloses it",
        "screen::reports_of_state_are_bounded";
    SCREEN_STATUSES_MAX: usize = 64, "records",
        "of one terminal's programs; the protocol asks for so many, and the oldest goes first",
        "screen::reports_of_state_are_bounded";
    // pty
    FRAME_BYTES_MAX: usize = 16 << 20, "bytes",
        "a frame on a host's socket; a paste of a large file fits",
        "pty::frames_beyond_the_limit_are_refused";
    JOB_FILE_BYTES_MAX: u64 = 1 << 20, "bytes",
        "a job's record with its command and environment; half of what the kernel gives a program",
        "pty::a_record_beyond_the_limit_is_refused";
    HOST_CLIENTS_MAX: usize = 64, "clients",
        "connections to one host; whoever has said nothing yet makes room",
        "pty::there_is_room_for_so_many_clients";
    HOST_QUEUE_BYTES_MAX: usize = 4 << 20, "bytes",
        "output that one client has not read; beyond it, it gets the screen instead when it reads on",
        "pty::a_client_that_never_reads_holds_nobody_up";
    HOST_REPLIES_BYTES_MAX: usize = 32 << 20, "bytes",
        "all that one client has not read; one that asks on without reading is let go of",
        "pty::a_client_that_asks_and_never_reads_is_let_go_of";
    HOST_SNAPSHOT_BYTES_MAX: usize = 16 << 20, "bytes",
        "a snapshot with its scrollback, one frame; a larger one comes without scrollback",
        "pty::a_snapshot_beyond_its_limit_comes_without_scrollback";
    HOST_INPUT_BYTES_MAX: usize = 1 << 20, "bytes",
        "what was typed and the program has not read; beyond it the writer is not listened to",
        "pty::input_that_a_program_does_not_read_is_bounded";
    HOST_SEQUENCE_BYTES_MAX: usize = 4 << 10, "bytes",
        "an answer of a client's terminal that is still coming; a longer one is taken for text",
        "pty::an_answer_without_an_end_is_text";
    HOST_TURN_BYTES: usize = 64 << 10, "bytes",
        "read from a program before the others have their turn",
        "pty::everyone_has_a_turn";
    HOST_GRACE_MS: u64 = 5_000, "ms",
        "from asking a program to end to killing it; agents store their session in it",
        "pty::a_program_that_ignores_the_polite_signal_is_killed";
    HOST_DRAIN_MS_MAX: u64 = 200, "ms",
        "for the last output after a program's end, where somebody else holds its terminal open",
        "pty::a_background_child_does_not_hold_the_end_up";
    HOST_FAREWELL_MS_MAX: u64 = 1_000, "ms",
        "for clients to read how it ended; who does not is left",
        "pty::a_client_that_never_reads_does_not_hold_the_end_up";
    HOST_QUIET_MS: u64 = 1_000, "ms",
        "of silence before the screen's text is written; a person reads no faster",
        "pty::the_text_is_written_on_quiet_and_no_later_than_its_age";
    HOST_SCREEN_AGE_MS_MAX: u64 = 30_000, "ms",
        "the age of the screen's text while a program never falls silent",
        "pty::the_text_is_written_on_quiet_and_no_later_than_its_age";
    HOST_RECORD_RETRY_MS: u64 = 2_000, "ms",
        "between two tries to write how a job ended, on a full disk",
        "pty::an_end_that_cannot_be_written_is_tried_again";
    // arbiter
    ARBITER_HOLD_MS: u64 = 3_000, "ms",
        "that a weaker kind of evidence must last before it takes back a stronger one; agents redraw for less",
        "arbiter::a_stale_report_is_taken_back_after_the_hold";
    ARBITER_QUIET_MS: u64 = 10_000, "ms",
        "without output before a working program is called quiet; agents at work turn a sign each second",
        "arbiter::silence_is_told_and_is_never_an_end";
    ARBITER_REPORT_QUIET_MS: u64 = 60_000, "ms",
        "without output before one that reported to be working is called quiet; a report outlasts long commands",
        "arbiter::silence_is_told_and_is_never_an_end";
    ARBITER_DISTURBED_MS: u64 = 2_000, "ms",
        "after an attach, a resize or a change of focus in which output is no sign of life",
        "arbiter::a_repaint_for_a_client_is_no_sign_of_life";
    ARBITER_RESTART_MS: u64 = 5_000, "ms",
        "after which a lower number of a source is a new count and no late report",
        "arbiter::late_reports_are_ignored";
    ARBITER_LOOK_MS: u64 = 150, "ms",
        "without output before a screen is looked at; a frame is drawn in less",
        "arbiter::a_screen_is_looked_at_when_it_stands_still_or_has_not_for_long";
    ARBITER_LOOK_MS_MAX: u64 = 500, "ms",
        "after which a screen is looked at that never stands still",
        "arbiter::a_screen_is_looked_at_when_it_stands_still_or_has_not_for_long";
    ARBITER_SOURCES_MAX: usize = 16, "sources",
        "reporters whose last report is kept; the oldest goes first",
        "arbiter::so_many_sources_are_remembered";
    ARBITER_TEXT_BYTES_MAX: usize = 512, "bytes",
        "of a message, title or notification that a verdict quotes",
        "arbiter::what_is_quoted_is_one_bounded_line";
    ARBITER_RULES_BYTES_MAX: usize = 64 << 10, "bytes",
        "a file of rules for one agent; the longest of ours has two thousand",
        "arbiter::rules_beyond_their_limits_are_refused";
    ARBITER_RULES_MAX: usize = 64, "rules",
        "in a file of rules; each look tries them in turn",
        "arbiter::rules_beyond_their_limits_are_refused";
    ARBITER_CONDITIONS_MAX: usize = 16, "conditions",
        "of one rule for screens",
        "arbiter::rules_beyond_their_limits_are_refused";
    ARBITER_REGION_LINES_MAX: usize = 40, "lines",
        "that a condition may look at; a dialog is no higher",
        "arbiter::rules_beyond_their_limits_are_refused";
}
