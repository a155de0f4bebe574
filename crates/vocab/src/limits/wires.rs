//! Bounds of the workspace protocol: what one message, one connection and one runtime may hold.
//!
//! Rows only; what a row is stands in the module above.

limits! { WIRES:
    // workspace-remote
    REMOTE_TEXT_BYTES_MAX: usize = 16 << 20, "bytes",
        "one text message; twice the longest answer of a model, which a call may carry escaped",
        "workspace_remote::the_bounds_of_the_table_are_the_usual_ones";
    REMOTE_STRING_BYTES_MAX: usize = 12 << 20, "bytes",
        "one string as it is written in a message; a picture in base64 or a file of some MiB",
        "workspace_remote::the_bounds_of_the_table_are_the_usual_ones";
    REMOTE_DEPTH_MAX: usize = 64, "levels",
        "nesting of a message; the parser recurses, and no argument is half as deep",
        "workspace_remote::the_bounds_of_the_table_are_the_usual_ones";
    REMOTE_KEYS_MAX: usize = 1_024, "keys",
        "keys of one object; arguments have a dozen, details some more",
        "workspace_remote::the_bounds_of_the_table_are_the_usual_ones";
    REMOTE_ITEMS_MAX: usize = 100_000, "items",
        "items of one array; the longest list that a search or listing gives",
        "workspace_remote::the_bounds_of_the_table_are_the_usual_ones";
    REMOTE_VALUES_MAX: usize = 1_000_000, "values",
        "values of one message; each takes some dozen bytes once it is parsed",
        "workspace_remote::the_bounds_of_the_table_are_the_usual_ones";
    REMOTE_PIECE_BYTES_MAX: usize = 1 << 20, "bytes",
        "content of one binary message; we send a quarter of it",
        "workspace_remote::a_piece_is_bounded_and_has_an_id";
    REMOTE_WINDOW_BYTES: u64 = 2 << 20, "bytes",
        "content of one request under way without credit; covers 4 ms at 500 MB/s",
        "workspace_remote::content_beyond_its_credit_ends_the_connection";
    REMOTE_CHARGE_BYTES_MIN: u64 = 4_096, "bytes",
        "what the smallest piece is charged, so that a window is no more than some hundred pieces",
        "workspace_remote::content_beyond_its_credit_ends_the_connection";
    REMOTE_GATHERED_BYTES_MAX: u64 = 128 << 20, "bytes",
        "content of writes of one connection that is still coming; two of the largest",
        "workspace_remote::content_that_is_gathered_is_bounded";
    REMOTE_GATHERED_ALL_BYTES_MAX: u64 = 512 << 20, "bytes",
        "the same of all connections of a runtime",
        "workspace_remote::the_gate_of_a_runtime_has_the_numbers_of_the_table";
    REMOTE_CONNECTIONS_MAX: u64 = 128, "connections",
        "connections of a runtime, held ones included; each has its queues",
        "workspace_remote::the_gate_of_a_runtime_has_the_numbers_of_the_table";
    REMOTE_CALLS_MAX: u64 = 128, "requests",
        "requests of one connection that run at a time; more wait on the client",
        "workspace_remote::requests_beyond_the_limit_are_refused_before_they_start";
    REMOTE_CALLS_ALL_MAX: u64 = 1_024, "requests",
        "the same of all connections of a runtime; its pools queue no more either",
        "workspace_remote::the_gate_of_a_runtime_has_the_numbers_of_the_table";
    REMOTE_CHANNELS_MAX: usize = 32, "channels",
        "open below a shared parent; each is a workspace with threads and handles, and idle ones make room",
        "workspace_remote::channels_are_bounded_and_idle_ones_make_room";
    REMOTE_CHANNEL_BYTES_MAX: usize = 64, "bytes",
        "a channel's name; a word that people type, and a directory's name",
        "workspace_remote::a_channel_is_named_plainly_and_asked_for";
    REMOTE_TRANSFERS_MAX: u64 = 16, "transfers",
        "uploads, and as many downloads, of one connection at a time; each holds an open file",
        "workspace_remote::transfers_have_limits_of_their_own";
    REMOTE_TRANSFERS_ALL_MAX: u64 = 64, "transfers",
        "the same of all connections of a runtime",
        "workspace_remote::the_gate_of_a_runtime_has_the_numbers_of_the_table";
    REMOTE_STRIKES_MAX: u32 = 3, "requests",
        "requests with wrong fields until a connection is closed; a client that errs thrice is another program",
        "workspace_remote::three_strikes_close_the_connection";
    REMOTE_TOMBSTONES_MAX: usize = 8_192, "ids",
        "ended ids of a connection that are remembered; a client counts up and reuses none",
        "workspace_remote::tombstones_are_bounded_in_number_and_time";
    REMOTE_TOMBSTONE_MS: u64 = 600_000, "ms",
        "how long an ended id is remembered",
        "workspace_remote::tombstones_are_bounded_in_number_and_time";
    REMOTE_QUEUE_ROOM_BYTES: usize = 4 << 20, "bytes",
        "what waits for the other side before transfers pause",
        "workspace_remote::a_queue_has_room_until_its_water_mark_and_a_hard_end";
    REMOTE_QUEUE_BYTES_MAX: usize = 64 << 20, "bytes",
        "what may wait for the other side; beyond it the connection is cut",
        "workspace_remote::a_queue_has_room_until_its_water_mark_and_a_hard_end";
    REMOTE_QUEUE_MESSAGES_MAX: usize = 16_384, "messages",
        "the same, counted",
        "workspace_remote::a_queue_has_room_until_its_water_mark_and_a_hard_end";
    REMOTE_PROGRESS_BYTES_MAX: usize = 1 << 20, "bytes",
        "what waits for the other side before progress is dropped and told as a gap",
        "workspace_remote::progress_that_finds_no_room_is_told_as_a_gap";
    REMOTE_ACK_BYTES: usize = 512 * 1024, "bytes",
        "received before the other side is told; it keeps as much for a new line",
        "workspace_remote::acknowledgements_come_after_so_many_messages_or_bytes";
    REMOTE_ACK_MESSAGES: u64 = 64, "messages",
        "the same, counted",
        "workspace_remote::acknowledgements_come_after_so_many_messages_or_bytes";
    REMOTE_GRACE_MS: u64 = 60_000, "ms",
        "how long a connection without a line is held; a network changes in less",
        "workspace_remote::a_connection_is_held_for_its_grace_and_no_longer";
    REMOTE_HANDSHAKE_MS: u64 = 10_000, "ms",
        "until the first message of a line, and until its answer",
        "workspace_remote::a_line_that_says_nothing_is_closed";
    REMOTE_PING_MS: u64 = 5_000, "ms",
        "silence after which a client asks whether the server is there; three of them unanswered and the line counts as lost",
        "workspace_remote::a_server_that_falls_silent_is_left_for_a_new_line";
    REMOTE_SILENCE_MS: u64 = 30_000, "ms",
        "silence after which a client counts as gone; six of its pings",
        "workspace_remote::a_client_that_falls_silent_counts_as_gone";
    REMOTE_RETRY_MS_MAX: u64 = 2_000, "ms",
        "the longest pause between two attempts to open a line; it begins at 20 and doubles",
        "workspace_remote::a_client_tries_again_with_growing_pauses";
    REMOTE_WAITING_MAX: usize = 1_024, "requests",
        "requests of a client that wait for a place; more are refused before they start",
        "workspace_remote::requests_wait_on_the_client_up_to_a_bound";
    REMOTE_END_MS: u64 = 10_000, "ms",
        "how long the work of an ended connection may take to stop; longer than polite signals and kills take",
        "workspace_remote::a_drain_answers_what_runs_and_ends_within_its_time";
    REMOTE_NAME_BYTES_MAX: usize = 200, "bytes",
        "a name or version in the handshake",
        "workspace_remote::names_of_the_handshake_are_bounded";
    REMOTE_KNOCKS_MAX: usize = 64, "sockets",
        "sockets at a runtime's door that were not let in yet; each may hold a deadline's time and a few KiB",
        "workspace_remote::strangers_at_the_door_are_bounded";
    REMOTE_SOCKETS_MAX: usize = 320, "sockets",
        "sockets of a runtime; as many as connections twice, since one that resumes is a second for a moment, and a crowd at the door",
        "workspace_remote::strangers_at_the_door_are_bounded";
    REMOTE_HEAD_BYTES_MAX: usize = 16 * 1024, "bytes",
        "the head of a handshake; ten times what clients send, with the longest token",
        "workspace_remote::what_is_no_handshake_is_refused";
    TLS_FILE_BYTES_MAX: u64 = 1 << 20, "bytes",
        "a chain of certificates or a key; a hundred times what such files have",
        "cli::what_flags_and_twins_mean_is_decided_before_anything_opens";
    SSH_WORDS_BYTES_MAX: usize = 16 * 1024, "bytes",
        "what ssh says when a workspace is looked for; more than its longest warning",
        "cli::a_workspace_over_ssh_brings_the_program_along";
    REMOTE_TOKEN_BYTES_MIN: usize = 32, "bytes",
        "the shortest token; 32 random hexadecimal digits are 128 bits",
        "workspace_remote::a_token_is_long_enough_and_sayable";
    REMOTE_TOKEN_BYTES_MAX: usize = 1_024, "bytes",
        "the longest token; more is no token but a file",
        "workspace_remote::a_token_is_long_enough_and_sayable";
}
