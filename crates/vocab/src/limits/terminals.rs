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
    JOBS_MAX: usize = 10_000, "jobs",
        "kept with their files, ended ones among them; beyond it somebody removes some",
        "daemon::so_many_jobs_are_kept_and_no_more";
    JOBS_LIVE_MAX: usize = 1_000, "jobs",
        "whose programs run; the system has some 4,000 terminals for everybody",
        "daemon::so_many_jobs_run_and_no_more";
    JOB_NAME_CHARS_MAX: usize = 60, "characters",
        "what a job is called; a list on 80 columns shows no more",
        "daemon::a_name_says_what_runs_and_is_nobody_elses";
    HOST_ANSWER_MS_MAX: u64 = 5_000, "ms",
        "for a host to be connected to or to answer; it does nothing slower than a resize of a long history",
        "daemon::a_host_that_stays_silent_holds_nobody_up";
    HOST_STOP_MS_MAX: u64 = 10_000, "ms",
        "from asking a host to end its program to killing the host: the grace twice over",
        "daemon::a_host_that_does_not_end_its_program_is_killed";
    HOST_KILL_MS_MAX: u64 = 5_000, "ms",
        "for the end of a host that was killed to be seen",
        "daemon::a_host_that_does_not_end_its_program_is_killed";
    HOST_LINK_RETRY_MS: u64 = 100, "ms",
        "until a host that lives and cannot be reached is tried again; an upgrade takes less",
        "daemon::a_host_whose_socket_was_removed_is_found_again";
    HOST_LINK_RETRY_MS_MAX: u64 = 30_000, "ms",
        "the longest of the waits between such tries, each twice the one before",
        "daemon::a_host_whose_socket_was_removed_is_found_again";
    HOST_SCREEN_FILE_BYTES_MAX: u64 = 4 << 20, "bytes",
        "the text of a screen as it is read back; the largest screen holds less",
        "daemon::a_screen_file_over_its_bound_is_refused";
    HOST_READY_MS_MAX: u64 = 10_000, "ms",
        "for a host to begin its program; one that does not is ended",
        "cli::a_host_that_says_nothing_is_ended";
    // worktree
    WORKTREE_GIT_MS_MAX: u64 = 600_000, "ms",
        "one command of git about a job's worktree; a checkout of a large repository takes minutes",
        "worktree::a_git_that_does_not_end_is_ended";
    WORKTREE_GIT_BYTES_MAX: u64 = 128 << 20, "bytes",
        "what one command of git says; the names of a million files",
        "worktree::what_git_says_is_bounded";
    WORKTREE_WHY_CHARS_MAX: usize = 300, "characters",
        "git's words quoted in a failure; a sentence or two",
        "worktree::a_long_complaint_is_cut";
    WORKTREE_NAME_CHARS_MAX: usize = 40, "characters",
        "a word that a branch or a directory is called by",
        "worktree::a_name_becomes_a_short_word";
    WORKTREE_NESTED_MAX: usize = 8, "repositories",
        "in one another below a worktree; submodules of submodules end at three",
        "worktree::repositories_in_one_another_are_looked_into_only_so_deep";
}
