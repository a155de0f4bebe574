//! Bounds of the faces: what callers may send and hold, and what our own client bears.
//!
//! Rows only; what a row is stands in the module above.

limits! { FACES:
    // gateway
    SOCKET_PATH_BYTES_MAX: usize = 103, "bytes",
        "a socket's path; the kernel's structure has 108 bytes on Linux and 104 elsewhere",
        "gateway::the_socket_is_private_and_a_leftover_is_replaced";
    CONNECTIONS_MAX: usize = 1_536, "connections per door",
        "a thousand stream clients with room for the rest; more are answered 503",
        "gateway::idle_connections_over_the_limit_are_told_so";
    CONNECTIONS_REFUSED_MAX: usize = 64, "connections",
        "surplus connections that are read to their end at a time; the rest are told so and closed at once",
        "gateway::idle_connections_over_the_limit_are_told_so";
    HEAD_BYTES_MAX: usize = 32 * 1024, "bytes",
        "a request's head; browsers send the cookies of every port of localhost",
        "gateway::garbage_and_oversized_heads_get_a_problem";
    HEADERS_MAX: usize = 100, "headers",
        "headers of a request; browsers send about twenty",
        "gateway::garbage_and_oversized_heads_get_a_problem";
    HEAD_READ_MS_MAX: u64 = 30_000, "ms",
        "how long a head may take, and how long an idle connection is kept",
        "gateway::a_slow_head_is_cut";
    BODY_READ_MS_MAX: u64 = 30_000, "ms",
        "how long a body may take to arrive on this machine",
        "gateway::a_slow_body_is_cut";
    REQUEST_BODY_BYTES_MAX: usize = 32 * 1024 * 1024, "bytes",
        "a conversation with pictures, as the AI SDK sends it whole each time",
        "gateway::oversized_bodies_are_refused";
    REQUEST_BODIES_BYTES_MAX: usize = 128 * 1024 * 1024, "bytes",
        "bodies of all requests in memory at once",
        "gateway::bodies_share_one_budget";
    JSON_DEPTH_MAX: usize = 127, "levels",
        "nesting of a JSON body; the parser recurses",
        "gateway::nesting_is_bounded";
    BODY_INLINE_BYTES_MAX: usize = 64 * 1024, "bytes",
        "a body that is read on the runtime's threads; a larger one is read beside them",
        "gateway::a_large_body_is_read_beside_the_threads_of_the_runtime";
    LAST_MESSAGE_BYTES_MAX: usize = 24 * 1024 * 1024, "bytes",
        "a conversation's last message in a body; two of the largest files and a long text",
        "gateway::a_last_message_is_bounded";
    CHAT_PARTS_MAX: usize = 10_000, "parts",
        "parts of a chat's last message; an answer of 200 steps with 8 calls each has some 2,000",
        "gateway::a_last_message_is_bounded";
    REQUEST_KEYS_MAX: usize = 32, "keys",
        "keys that a request brings; there are not as many vendors",
        "gateway::a_body_brings_only_so_many_keys";
    REQUEST_NAME_BYTES_MAX: usize = 256, "bytes",
        "an id, or a name of a session, place, provider, model or media type in a body; ids are 36",
        "gateway::texts_of_a_body_are_bounded_by_their_kind";
    REQUEST_PATH_BYTES_MAX: usize = 4_096, "bytes",
        "a path in a body; the kernel takes no longer one",
        "gateway::texts_of_a_body_are_bounded_by_their_kind";
    REQUEST_TITLE_BYTES_MAX: usize = 1_024, "bytes",
        "a title that a client chose; lists show one line of it",
        "gateway::texts_of_a_body_are_bounded_by_their_kind";
    ANSWER_REASON_BYTES_MAX: usize = 4_096, "bytes",
        "a person's words about an answer; a paragraph or two, which the model reads",
        "gateway::texts_of_a_body_are_bounded_by_their_kind";
    IDEMPOTENCY_KEY_BYTES_MAX: usize = 128, "bytes",
        "a client's idempotency key; a UUID has 36",
        "gateway::texts_of_a_body_are_bounded_by_their_kind";
    PATH_PARAMETER_BYTES_MAX: usize = 256, "bytes",
        "a name in a path; ids are 36",
        "gateway::every_row_answers_its_method_alone";
    STREAM_HEARTBEAT_MS: u64 = 15_000, "ms",
        "between two comments on a quiet stream; proxies drop what is silent for a minute",
        "gateway::a_quiet_stream_has_heartbeats";
    STREAM_BACKLOG_BYTES_MAX: usize = 64 * 1024, "bytes",
        "what a connection holds for a client that does not read; its source waits beyond that",
        "gateway::a_source_waits_for_a_client_that_does_not_read";
    STREAM_STALL_MS_MAX: u64 = 30_000, "ms",
        "how long a client may take to read one backlog; a slower one is cut and resumes by position",
        "gateway::a_client_that_does_not_read_is_cut_and_slows_nobody";
    LINGER_BYTES_MAX: usize = 64 * 1024 * 1024, "bytes",
        "what is read and thrown away after a refusal, so that its reader gets to see it",
        "gateway::a_refused_client_is_read_only_so_far";
    LINGER_MS_MAX: u64 = 1_000, "ms",
        "how long a refused client may go on sending",
        "gateway::a_refused_client_goes_on_sending_only_for_a_while";
    ANCESTORS_MAX: usize = 64, "processes",
        "how far up a caller's family is looked at; shells rarely nest ten deep",
        "gateway::a_family_is_looked_at_so_far_up_and_no_further";
    CONTROL_REQUESTS_MAX: usize = 64, "requests",
        "in flight on one connection of the control protocol; the next line waits for one to end",
        "gateway::so_many_lines_are_answered_at_a_time_and_no_more";
    CONTROL_STREAMS_MAX: usize = 16, "streams",
        "told at a time on one connection of the control protocol, so that answers find their way between",
        "gateway::so_many_streams_are_told_on_a_connection_and_no_more";
    CONTROL_ID_BYTES_MAX: usize = 1_024, "bytes",
        "the id of a line, which each line of its answer repeats; a UUID has 38 with its quotes",
        "gateway::an_id_comes_back_as_it_was_given_and_is_bounded";
    CONTROL_FIELDS_MAX: usize = 64, "fields",
        "of a line, and of arguments that are taken apart; no row knows twenty",
        "gateway::lines_that_cannot_be_answered_say_why_and_the_connection_goes_on";

    // cli
    LOG_FILE_BYTES_MAX: u64 = 8 << 20, "bytes",
        "the daemon's log before it is set aside; with the one before it, weeks of work",
        "cli::a_full_log_is_set_aside_once";
    ERRORS_FILE_BYTES_MAX: u64 = 1 << 20, "bytes",
        "the daemon's standard error before it is set aside, at its start or an hourly look; a process that still logs writes nothing there",
        "cli::standard_error_is_set_aside_once_it_is_over_its_bound";
    DAEMON_READY_MS_MAX: u64 = 15_000, "milliseconds",
        "how long a starter waits for the daemon it started, or for a word that it checks its database",
        "cli::a_daemon_that_never_gets_ready_is_reported";
    DAEMON_CHECK_MS_MAX: u64 = 600_000, "milliseconds",
        "how long a starter waits for a database that is checked or copied; tens of gigabytes",
        "cli::a_daemon_that_checks_its_database_is_waited_for_and_left_alive";
    OPEN_FILES: u64 = 8_192, "files",
        "open at once in the daemon: all connections of both doors, workspaces and runs beside them",
        "cli::a_daemon_opens_more_files_than_its_starter_may";

    MARKDOWN_HELD_BYTES_MAX: usize = 4_096, "bytes",
        "an unfinished construct held back before it counts as plain text; longer than any link",
        "cli::an_endless_construct_is_let_go";
    COLOR_CHARS_MAX: usize = 32, "characters",
        "the longest color sequence that is dropped; a longer one is shown",
        "cli::controls_are_shown_and_colors_dropped";

    // cli, as a client
    CLIENT_ANSWER_BYTES_MAX: usize = 256 << 20, "bytes",
        "a JSON answer read into memory: all messages of one session",
        "api::an_answer_that_announces_too_much_is_not_read";
    CLIENT_CONNECT_MS_MAX: u64 = 5_000, "milliseconds",
        "how long a daemon of this machine may take to accept a connection",
        "api::a_door_that_nobody_opens_is_given_up";
    CLIENT_EVENT_BYTES_MAX: usize = 16 << 20, "bytes",
        "an event of the daemon's stream; a picture in base64 and a full text fit",
        "api::an_event_without_end_is_refused";
    CLIENT_RECONNECTS_MAX: u32 = 5, "attempts",
        "in a row to come back to a stream that broke; some 3 s of waits in all, a restart of the daemon",
        "cli::a_reader_gives_up_after_so_many_attempts";
    CLIENT_RECONNECT_MS: u64 = 200, "milliseconds",
        "before the second attempt to come back; it doubles, and a daemon starts in less",
        "cli::attempts_to_come_back_wait_longer_each_time_and_end";
    CLIENT_END_MS_MAX: u64 = 2_000, "milliseconds",
        "for which `wait` holds back an end that is not written down yet; it takes some milliseconds, and for ever on a full disk",
        "cli::an_end_is_held_back_until_it_is_written_down_or_that_takes_too_long";
    CLIENT_SILENCE_MS_MAX: u64 = 60_000, "milliseconds",
        "without a byte of a stream before it counts as broken; four heartbeats",
        "cli::a_silent_stream_counts_as_broken";
    RUNTIME_THREADS: usize = 2, "threads",
        "the daemon's runtime; it waits more than it works, and each thread costs memory",
        "cli::the_runtime_has_so_many_threads_and_no_more";
    CHORES_EVERY_MS: u64 = 3_600_000, "milliseconds",
        "how often what is old or left over goes and files of errors are bounded; facts age in days",
        "cli::chores_are_done_at_once_and_every_hour";
    HANDSHAKE_MS_MAX: u64 = 5_000, "milliseconds",
        "how long a client waits for a daemon's first answer, which takes a busy one a few",
        "cli::what_stays_silent_at_our_socket_is_no_daemon";
    ROSTER_AGE_MS: i64 = 172_800_000, "ms",
        "how long what has ended stays in the list without `all`: a weekend",
        "gateway::what_ended_long_ago_is_shown_when_asked_for";
    SEND_TEXT_BYTES_MAX: usize = 256 << 10, "bytes",
        "one text typed into a job's terminal; more is a file",
        "gateway::a_text_to_type_is_bounded";
    NOTIFY_KEPT_MAX: usize = 4_096, "jobs and sessions",
        "whose state was told last is remembered; the oldest goes first",
        "cli::what_needs_somebody_is_told_once_per_edge";
    NOTIFY_WAITING_MAX: usize = 64, "notifications",
        "that wait for the one before; a person reads no more at once",
        "cli::a_notification_that_hangs_holds_nobody_up";
    NOTIFY_MS_MAX: u64 = 10_000, "ms",
        "for the program that tells something; it is ended then, and the next one has its turn",
        "cli::a_notification_that_hangs_holds_nobody_up";

    // cli, inside jobs and beside agents
    REPORT_ANSWER_MS_MAX: u64 = 1_000, "milliseconds",
        "how long a report waits for the job's host, which answers in one; an agent waits for its hooks",
        "cli::a_report_to_a_host_that_is_silent_is_given_up";
    HOOK_EVENT_BYTES_MAX: u64 = 16 << 20, "bytes",
        "what an agent tells a hook; a file that it is about to write is in it",
        "cli::a_hook_reads_all_that_it_is_told_and_says_nothing";
    HOOKS_FILE_BYTES_MAX: u64 = 1 << 20, "bytes",
        "an agent's configuration that is read and written; people write theirs by hand",
        "cli::a_configuration_that_is_too_long_is_left_alone";

    // tui
    VIEW_LINE_BYTES_MAX: usize = 64 << 10, "bytes",
        "a line that is written in the view, such as a prompt that was pasted",
        "tui::a_line_takes_so_many_bytes";
    VIEW_ITEMS_MAX: usize = 2_000, "items",
        "what is kept of a conversation; more than anybody scrolls back, and the rest is in the store",
        "tui::a_conversation_is_bounded";
    VIEW_ITEM_BYTES_MAX: usize = 64 << 10, "bytes",
        "a text of a conversation; longer ones lose their beginning, what a tool gave its end",
        "tui::a_conversation_is_bounded";
    VIEW_ESCAPE_MS: u64 = 50, "ms",
        "after Escape until it counts as the key: the rest of a key's sequence comes along with it",
        "tui::a_sequence_that_does_not_go_on_is_let_go";
    VIEW_ORDERS_MAX: usize = 16, "orders",
        "carried out at once; one that ends a job takes some seconds",
        "tui::so_many_orders_are_carried_out_at_once";
    VIEW_TOLD_MAX: usize = 256, "messages",
        "told and not taken yet; whoever tells more waits",
        "tui::what_is_told_waits_in_a_bounded_queue";
    VIEW_RELOAD_MS: u64 = 200, "ms",
        "between two reads of a list that keeps changing; a person sees no more of it",
        "tui::a_list_that_keeps_changing_is_read_with_a_pause";
    VIEW_RETRY_MS_MAX: u64 = 5_000, "ms",
        "between two attempts to find the daemon again; whoever started it waits no longer",
        "tui::a_connection_is_tried_again_with_a_bounded_wait";
    VIEW_ERROR_BYTES_MAX: u64 = 4_096, "bytes",
        "what is read of why a job could not be shown; its first line is told",
        "tui::what_could_not_be_shown_says_why";
    VIEW_SHOWN_END_MS_MAX: u64 = 2_000, "ms",
        "for what shows a job to give the terminal back once it was told to end; it is killed then, and its guard does",
        "tui::what_shows_a_job_and_neither_stops_nor_ends_is_killed";
}
