//! Bounds of language servers: what they send, take, hold and how long they may take.
//!
//! Rows only; what a row is stands in the module above.

limits! { SERVERS:
    LSP_HEADER_BYTES_MAX: usize = 4 * 1024, "bytes",
        "the header of a language server's message; two short lines",
        "lsp::what_breaks_the_line_is_named";
    LSP_MESSAGE_BYTES_MAX: usize = 16 << 20, "bytes",
        "one message of a language server; references of a name that a large project uses everywhere take a few MiB",
        "lsp::what_breaks_the_line_is_named";
    LSP_PENDING_MAX: usize = 64, "requests",
        "that wait for one server's answers; more would only wait for its one thread",
        "lsp::no_more_questions_wait_than_allowed";
    LSP_OUTGOING_MAX: usize = 32, "messages",
        "queued for a server that reads slowly, documents among them",
        "lsp::a_server_that_does_not_read_is_ended";
    LSP_SEND_MS: u64 = 10_000, "milliseconds",
        "how long a server may read nothing before it counts as broken; indexing does not stop one from reading",
        "lsp::a_server_that_does_not_read_is_ended";
    LSP_REST_MS: u64 = 200, "milliseconds",
        "for the rest of what a server wrote before its program ended; what it left behind may hold the line open",
        "lsp::a_server_whose_child_holds_the_line_open_has_ended_all_the_same";
    LSP_REGISTRATIONS_MAX: usize = 256, "abilities",
        "that a server adds after its start, and settings it asks for at once; the protocol has under 100",
        "lsp::abilities_that_a_server_adds_are_bounded";
    LSP_INITIALIZE_MS: u64 = 30_000, "milliseconds",
        "until a started server must be ready; the slowest seen takes half a second, a cold disk ten times that",
        "lsp::a_server_that_is_never_ready_is_ended_and_told";
    LSP_CALL_MS: u64 = 20_000, "milliseconds",
        "one call that gave no time of its own; the first diagnostics of a large project take some seconds",
        "lsp::an_answer_that_does_not_come_is_given_up_and_called_off";
    LSP_SETTLE_MS: u64 = 700, "milliseconds",
        "silence after which diagnostics without a version count; servers publish syntax first and types within half a second",
        "lsp::diagnostics_without_a_version_count_once_the_server_has_read_the_change_and_is_silent";
    LSP_PULL_AGAIN_MS: u64 = 100, "milliseconds",
        "until a server is asked again that gave a question for diagnostics up",
        "lsp::a_question_that_the_server_gave_up_is_asked_again";
    LSP_IDLE_MS: u64 = 600_000, "milliseconds",
        "until a server that nobody asks is stopped; a person who reads an answer comes back within that",
        "lsp::an_idle_server_is_stopped_and_the_next_call_starts_it_again";
    LSP_SHUTDOWN_MS: u64 = 3_000, "milliseconds",
        "for a server to answer that it will end, and again to end, before it is made to",
        "lsp::a_server_that_ignores_its_end_is_killed";
    LSP_MEMORY_BYTES_MAX: u64 = 4 << 30, "bytes",
        "memory of one server and what it started; rust-analyzer takes 2 to 3 GiB of a large project",
        "lsp::a_server_that_holds_too_much_is_ended_and_told";
    LSP_MEMORY_LOOK_MS: u64 = 5_000, "milliseconds",
        "between two looks at a server's memory; a look reads every process there is",
        "lsp::a_server_that_holds_too_much_is_ended_and_told";
    LSP_RESTARTS_MAX: usize = 3, "restarts",
        "of a server that ends by itself, within the window; one that fails four times fails a fifth time",
        "lsp::a_server_is_started_again_so_many_times";
    LSP_RESTART_WINDOW_MS: u64 = 600_000, "milliseconds",
        "after which an unplanned end no longer counts; what was wrong may be mended by then",
        "lsp::a_server_is_started_again_so_many_times";
    LSP_SERVERS_MAX: usize = 8, "servers",
        "language servers of one workspace that run at the same time; each may take gigabytes",
        "lsp::one_more_server_takes_the_place_of_the_one_unused_for_longest";
    LSP_PLACES_MAX: usize = 64, "directories",
        "for which a server is remembered; a project of many packages has one for each",
        "lsp::servers_of_many_directories_are_forgotten_when_they_do_not_run";
    LSP_DOCUMENTS_MAX: usize = 64, "documents",
        "open in one server; the one used longest ago is closed",
        "lsp::the_document_used_longest_ago_is_closed";
    LSP_DOCUMENT_BYTES_MAX: u64 = 4 << 20, "bytes",
        "a file that a server is shown; what is larger was made by a program",
        "lsp::what_cannot_be_shown_is_refused";
    LSP_CHANGED_MAX: usize = 1024, "files",
        "changed files of which servers were not told yet; beyond that a call finds out",
        "lsp::changes_beyond_the_bound_are_found_by_the_next_call";
    LSP_RESULTS_MAX: usize = 200, "results",
        "of one answer: places, symbols or diagnostics; more would not be read",
        "lsp::results_are_bounded_and_say_so";
    LSP_SHOWN_LINE_BYTES_MAX: usize = 300, "bytes",
        "of a line shown beside a result; enough to know it by",
        "lsp::results_are_bounded_and_say_so";
    LSP_MESSAGE_SHOWN_BYTES_MAX: usize = 2_000, "bytes",
        "of one diagnostic's message; type errors take some hundred",
        "lsp::results_are_bounded_and_say_so";
    LSP_HOVER_BYTES_MAX: usize = 16 * 1024, "bytes",
        "what is said about one name, documentation included",
        "lsp::a_hover_is_read_in_every_shape_and_cut";
    LSP_RENAME_FILES_MAX: usize = 500, "files",
        "that one rename changes; a handle and a temporary file each",
        "lsp::a_rename_of_too_many_files_is_refused";
    LSP_LAST_WORDS_LINES_MAX: usize = 20, "lines",
        "of what a server complained of last, for whoever asks why it ended",
        "lsp::last_words_are_bounded";
    LSP_LAST_WORDS_BYTES_MAX: usize = 4 * 1024, "bytes",
        "of what a server complained of last; a stack trace's end",
        "lsp::last_words_are_bounded";
    LSP_ERROR_BYTES_MAX: usize = 6 * 1024, "bytes",
        "of what went wrong with a server, last words included",
        "lsp::last_words_are_bounded";
    LSP_CONFIG_BYTES_MAX: u64 = 64 * 1024, "bytes",
        "the project's layer of servers; a server takes some hundred bytes",
        "lsp::a_layer_that_cannot_be_used_is_told_and_passed_over";
}
