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
    HOST_SEQUENCE_MS_MAX: u64 = 200, "ms",
        "for the rest of an answer that has begun; then it was keys that look like it, and a person waits",
        "pty::what_may_be_an_answer_is_held_until_it_is_due";
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
        "cli::a_host_that_is_not_ready_in_time_is_ended";
    // pty, the attached terminal
    ATTACH_KEYS_BYTES_MAX: usize = 256, "bytes",
        "a key's sequence that is still coming, or what came after the first of two detach keys; a longer one is none",
        "pty::what_is_held_back_is_bounded";
    ATTACH_INPUT_BYTES_MAX: usize = 1 << 20, "bytes",
        "what was typed and the host has not taken; beyond it the terminal is not read",
        "pty::typing_that_a_host_does_not_take_is_bounded";
    ATTACH_FENCE_MS_MAX: u64 = 150, "ms",
        "for the terminal's last answer, so that none is typed into the shell; those who answer do at once",
        "pty::a_terminal_that_answers_nothing_is_waited_for_only_so_long";
    ATTACH_RESTORE_MS_MAX: u64 = 1_000, "ms",
        "for a terminal that is stuck to take what restores it; its modes are set back all the same",
        "pty::a_terminal_that_is_stuck_does_not_hold_the_end_up";
    // pty, guards of terminals
    GUARD_FAREWELL_BYTES_MAX: usize = 2_048, "bytes",
        "what a guard writes to a terminal whose client was killed; with the modes it fits into one write to a pipe",
        "pty::more_than_a_guard_can_write_is_refused";
    // pty: recordings
    RECORD_BLOCK_BYTES: usize = 64 << 10, "bytes",
        "recorded events compressed together; as far back as the compression looks",
        "pty::what_is_recorded_is_written_in_blocks";
    RECORD_BLOCK_MS: u64 = 1_000, "ms",
        "the age of recorded output that is not written while more comes; what a killed host loses",
        "pty::what_is_recorded_is_written_in_blocks";
    RECORD_KEYFRAME_BYTES: u64 = 2 << 20, "bytes",
        "recorded between two keyframes; a terminal reads it in a few hundredths of a second",
        "pty::keyframes_come_by_size_and_by_time";
    RECORD_KEYFRAME_MS: u64 = 30_000, "ms",
        "between two keyframes of a program that is busy",
        "pty::keyframes_come_by_size_and_by_time";
    RECORD_SEGMENT_BYTES: u64 = 4 << 20, "bytes",
        "of events in one file of a recording, compressed; the unit in which the oldest goes",
        "pty::the_oldest_segments_go_first";
    RECORD_BYTES_MAX: u64 = 64 << 20, "bytes",
        "a job's recording; about an hour of an agent's animation, weeks of a quiet one",
        "pty::the_oldest_segments_go_first";
    RECORD_SEGMENTS_MAX: usize = 256, "files",
        "of one recording, where hosts began anew over and over",
        "pty::many_small_segments_are_bounded";
    RECORD_FILE_BYTES_MAX: u64 = 32 << 20, "bytes",
        "read of one file of a recording, and taken by one block when it is decompressed",
        "pty::a_block_that_claims_to_be_huge_is_not_believed";
    RECORD_RETRY_MS: u64 = 10_000, "ms",
        "after a write that failed, before a busy program's output is recorded again",
        "pty::a_disk_that_is_full_stops_a_recording_for_a_while";
    // pty: upgrades, and who asks a host
    HOST_ANSWER_MS_MAX: u64 = 5_000, "ms",
        "for a host to answer an operation; one that does not is stopped or stuck",
        "pty::a_host_that_does_not_answer_is_not_waited_for";
    HOST_PROBE_MS_MAX: u64 = 2_000, "ms",
        "for another build to say that it can go on; what the program writes waits meanwhile",
        "cli::a_program_that_is_no_host_is_not_become";
    HOST_STATE_BYTES_MAX: usize = 64 << 20, "bytes",
        "what a host hands to the next build: the screen, its scrollback and what clients have not read",
        "pty::a_state_beyond_its_limit_is_not_handed_over";
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
    WORKTREE_LOG_BYTES_MAX: usize = 16 << 20, "bytes",
        "the log of a worktree's head, which is read whole; some 100,000 moves",
        "worktree::what_a_head_has_left_is_bounded";
    WORKTREE_LEFT_MAX: usize = 200, "commits",
        "that a head has left behind on no branch, each to be saved under a name of its own; nobody looks at more",
        "worktree::what_a_head_has_left_is_bounded";
    // job directories
    JOB_ENTRIES_MAX: usize = 1_000, "files",
        "of a job's directory whose modes are looked at; a job has ten, and a recording some hundred",
        "pty::access_of_others_is_taken_away_from_so_many_files";
    JOB_FILES_ASIDE_MAX: usize = 100, "files",
        "of one name that could not be read and are kept beside the one that can",
        "pty::what_cannot_be_read_is_kept_beside_and_never_written_over";
    JOBS_FINISHED_AT_ONCE: usize = 4, "jobs",
        "whose leftovers are ended side by side when a daemon starts; each looks at all processes",
        "daemon::leftovers_are_ended_side_by_side_and_only_so_many";
    JOB_FACTS_UNSENT_MAX: usize = 1_000, "facts",
        "about jobs that wait for a store that cannot be written; each is some hundred bytes",
        "daemon::so_many_facts_wait_for_the_store_and_the_oldest_go_first";
    JOB_FACTS_RETRY_MS: u64 = 1_000, "ms",
        "until such facts are tried again; a disk that was full for a moment costs a person no more",
        "daemon::a_fact_that_was_not_stored_is_tried_again_after_a_while";
    // jobs inside jobs
    SHOWN_WITHIN_MAX: usize = 32, "jobs",
        "that show one another in a row, each asked in turn before another one is shown; three are a puzzle",
        "pty::so_many_jobs_in_a_row_are_asked_and_no_more";
    SHOWN_WITHIN_MS_MAX: u64 = 2_000, "ms",
        "for all of them to say what they are shown in; one that is stuck shows nothing, and a person waits for it",
        "pty::jobs_that_do_not_answer_hold_up_whoever_shows_one_once";
}
