//! Bounds of the ground and of the seams: paths, files, children, storage, tools, models' wires.
//!
//! Rows only; what a row is stands in the module above.

limits! { GROUND:
    // tools
    TOOL_TEXT_LINES_MAX: usize = 2_000, "lines",
        "a tool's text for a model; more is kept as an artifact or read in pieces",
        "workspace_local::truncate_stops_at_whichever_limit_comes_first";
    TOOL_TEXT_BYTES_MAX: usize = 50 * 1024, "bytes",
        "a tool's text for a model; about 12,000 tokens, what a context can bear many times",
        "workspace_local::truncate_stops_at_whichever_limit_comes_first";

    // confine, vocab::path
    PATH_TEXT_BYTES_MAX: usize = 16 * 1024, "bytes",
        "a path as written; four times what kernels take, because every byte may be an escape",
        "vocab::limits_of_paths_are_met";
    PATH_COMPONENT_BYTES_MAX: usize = 255, "bytes",
        "one name of a path; what common file systems store",
        "vocab::limits_of_paths_are_met";
    PATH_COMPONENTS_MAX: usize = 256, "components",
        "steps of a path, and directories that its links lead down; each holds an open handle while it is walked",
        "confine::links_lead_no_deeper_than_a_path_may";
    PATH_LINKS_MAX: usize = 40, "links",
        "symbolic links followed on one path; the kernel's own number",
        "confine::too_many_links_are_refused";
    PATH_RETRIES_MAX: usize = 16, "attempts",
        "walks of a path whose tree changes meanwhile; then `busy`",
        "confine::a_tree_that_keeps_changing_is_given_up";
    LANE_WAITERS_MAX: usize = 1_024, "waiters",
        "requests waiting for one file; more is a loop, not work",
        "confine::a_full_lane_refuses";
    TRAVERSE_WORKERS_MAX: usize = 16, "threads",
        "threads of one directory walk; a disk answers no faster with more",
        "confine::a_walk_has_no_more_threads_than_a_disk_bears";
    TRAVERSE_DEPTH_MAX: usize = 256, "directories",
        "depth of a walk; each level holds an open handle",
        "confine::too_deep_trees_are_counted_not_followed";
    TRAVERSE_DIR_ENTRIES_MAX: usize = 1_000_000, "entries",
        "names of one directory, held at once because they are sorted",
        "confine::a_directory_with_too_many_entries_is_counted";
    TRAVERSE_RESULTS_MAX: usize = 4_096, "results",
        "results finished out of order and not yet delivered",
        "confine::work_ahead_pauses_at_its_bounds";
    TRAVERSE_AHEAD_BYTES_MAX: usize = 8 << 20, "bytes",
        "what results finished out of order may hold before helping threads pause",
        "confine::results_held_ahead_are_bounded_in_bytes";
    IGNORE_FILE_BYTES_MAX: usize = 1 << 20, "bytes",
        "an ignore file; a longer one is no list of patterns",
        "confine::a_giant_ignore_file_is_not_read";
    PROTECTED_ENTRIES_MAX: usize = 200_000, "entries",
        "files and directories of our own that are compared by inode; beyond it every hard-linked file and every mount of the same devices is refused",
        "confine::too_many_protected_files_fail_closed";

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
    EDIT_UNASKED_BYTES_MAX: usize = 1 << 20, "bytes",
        "what an edit looks at before it asks again whether it is still wanted; milliseconds of work",
        "workspace_local::an_edit_that_nobody_waits_for_ends_within_its_work";
    DIFF_LINES_MAX: usize = 500_000, "lines",
        "lines between the first and the last difference that are compared; a comparison holds some hundred bytes for each",
        "workspace_local::lines_far_from_a_difference_are_not_held_and_too_many_between_are_left_out";
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
        "workspace_local::a_picture_that_promises_more_than_a_decoder_may_fill_is_refused";
    IMAGE_DECODE_BYTES_MAX: u64 = 256 << 20, "bytes",
        "memory a decoder may take; 64 megapixels",
        "workspace_local::a_picture_that_promises_more_than_a_decoder_may_fill_is_refused";

    // sandbox
    CHILD_TIMEOUT_MS_MAX: u64 = 2_147_483_647, "ms",
        "what a timer counts on every side of every wire; about 24 days",
        "sandbox::a_timeout_outside_its_range_is_refused";
    CHILD_GRACE_MS: u64 = 2_000, "ms",
        "time to end after the polite signal; builds remove their temporary files in it",
        "sandbox::a_child_has_the_named_grace_unless_a_policy_says_otherwise";
    CHILD_SILENCE_MS: u64 = 100, "ms",
        "silence after the child's end that means no more output; each chunk begins it anew",
        "sandbox::a_pipe_that_stays_open_is_left_after_the_named_silence";
    CHILD_OVERTIME_MS: u64 = 5_000, "ms",
        "longest reading after the child's end when a descendant never falls silent",
        "sandbox::a_writer_that_never_falls_silent_is_left_after_a_while";
    CHILD_KILL_ROUND_MS: u64 = 500, "ms",
        "time for killed processes to be gone before the next look",
        "sandbox::a_round_lasts_no_longer_than_its_limit";
    CHILD_KILL_ROUNDS_MAX: usize = 32, "rounds",
        "looks for processes that appear while others are killed",
        "sandbox::what_keeps_appearing_is_chased_for_so_many_rounds";
    CHILD_CHUNK_BYTES: usize = 64 * 1024, "bytes",
        "one read of output; a pipe holds as much unless it is enlarged",
        "sandbox::a_fast_writer_is_read_in_bounded_pieces";
    CHILD_CHUNKS_PER_WAKE: usize = 16, "chunks",
        "reads before a wish to stop is looked at again",
        "sandbox::one_wake_reads_so_many_chunks";
    CHILD_PIPE_BYTES: usize = 512 * 1024, "bytes",
        "pipe of a fast writer; half of what an ordinary user may ask for",
        "sandbox::a_pipe_grows_with_the_first_full_chunk";
    CHILD_REST_READS_MAX: usize = 16, "reads",
        "wakes' worth of chunks read after the end; more than a full pipe",
        "sandbox::a_fast_writer_is_read_in_bounded_pieces";
    CHILD_SURVIVORS_LISTED_MAX: usize = 32, "processes",
        "descendants named in a report; all of them are kept track of",
        "sandbox::no_more_survivors_are_named_than_a_report_can_bear";
    CHILD_COMMAND_SHOWN_BYTES_MAX: usize = 200, "bytes",
        "command line of a descendant in a report",
        "sandbox::a_long_command_line_is_shortened";
    CHILD_ENVIRON_READ_BYTES_MAX: u64 = 2 << 20, "bytes",
        "environment read to find a marker; what the kernel lets a program be given",
        "sandbox::an_environment_is_read_only_so_far";
    CHILD_DRAINED_PIPES_MAX: usize = 64, "pipes",
        "pipes of survivors a scope reads on; the next one is closed",
        "sandbox::no_more_pipes_are_drained_than_the_limit";
    CHILD_DRAIN_PAUSE_MS: u64 = 10, "ms",
        "pause between reads of what nobody wants; bounds a chatty survivor to a few MB/s",
        "sandbox::what_nobody_wants_is_read_with_pauses";

    // store
    STORE_ROOM_BYTES_MIN: u64 = 256 << 10, "bytes",
        "free beside the database; with less, one that cannot be opened to write is opened to read",
        "store::on_a_full_disk_what_is_stored_is_read_and_nothing_is_written";
    STORE_ROOM_RETRY_MS: u64 = 2_000, "ms",
        "until a daemon that began on a full disk looks for room again; somebody has just made some",
        "cli::what_could_not_be_done_on_a_full_disk_is_tried_at_intervals_until_it_is_done";
    STORE_QUEUE_BYTES_MAX: usize = 8 << 20, "bytes",
        "batches that wait for the writer; a caller beyond it waits, so a slow disk holds the runs back",
        "store::a_full_queue_holds_the_caller_back";
    STORE_BATCH_BYTES_MAX: usize = 64 << 20, "bytes",
        "one batch; it takes the whole queue when it is larger than the queue, and is refused beyond this",
        "store::what_is_too_large_is_refused";
    STORE_GROUP_BYTES_MAX: usize = 2 << 20, "bytes",
        "what one commit takes on before it ends, so that nobody waits long for the disk",
        "store::a_commit_takes_on_only_so_much";
    STORE_FACT_BYTES_MAX: usize = 4 * 1024, "bytes",
        "a fact is thin; long texts in it are shortened, as the content holds them whole",
        "store::a_long_fact_is_made_thin";
    STORE_PARTS_MAX: usize = 1 << 20, "parts",
        "parts of one message; the index is the low 20 bits of a part's key",
        "store::what_is_too_large_is_refused";
    STORE_LIST_MAX: usize = 200, "sessions",
        "a page of the list; about 100 KB on the wire",
        "store::a_list_pages_through_everything_once";
    STORE_PAGE_BYTES_MAX: usize = 128 * 1024, "bytes",
        "messages of one read, which is what a slow client holds of a conversation; a larger one stands alone",
        "store::a_conversation_is_read_in_pages_of_bounded_size";
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
        "store::a_chunk_deletes_so_many_rows_and_no_more";
    STORE_FACTS_KEPT_MAX: u64 = 1_000_000, "facts",
        "facts kept for readers that come back; about 300 MB",
        "store::what_is_kept_stands_in_the_table";
    STORE_FACTS_DAYS_MAX: u64 = 30, "days",
        "how long a reader may stay away and still miss nothing",
        "store::old_facts_go_and_older_cursors_expire";
    STORE_ANSWERS_HOURS_MAX: u64 = 24, "hours",
        "how long the answer to a request with an idempotency key is remembered; nobody retries longer",
        "store::what_is_kept_stands_in_the_table";
    STORE_WAL_PAGES_MAX: usize = 1_000, "pages",
        "the log's length at which the writer moves it into the database, 4 MB",
        "store::the_log_is_moved_into_the_database_as_it_grows";

    // workspace-local: calls, searches, transfers
    POOL_QUEUE_MAX: usize = 1_024, "tasks",
        "calls waiting for a thread; beyond it they are refused before they start",
        "workspace_local::a_full_queue_refuses_before_anything_starts";
    POOL_FILE_THREADS_MAX: usize = 8, "threads",
        "threads for file work of one workspace; a disk answers no faster with more",
        "workspace_local::each_pool_of_a_workspace_has_the_threads_of_its_row";
    POOL_PROGRAM_THREADS_MAX: usize = 64, "threads",
        "commands that run at once in one workspace; each holds a thread",
        "workspace_local::each_pool_of_a_workspace_has_the_threads_of_its_row";
    POOL_WAITING_THREADS_MAX: usize = 64, "threads",
        "threads that wait for a file somebody else changes",
        "workspace_local::only_so_many_threads_wait_for_others";
    POOL_IDLE_MS: u64 = 10_000, "ms",
        "an idle thread ends after it; an idle daemon holds none",
        "workspace_local::a_thread_without_work_ends_after_a_while";
    ARTIFACT_BYTES_MAX: u64 = 256 << 20, "bytes",
        "one full output; the 100 MB builds print fit twice",
        "workspace_local::full_outputs_are_kept_within_the_named_bounds";
    ARTIFACTS_BYTES_MAX: u64 = 1 << 30, "bytes",
        "full outputs of a workspace together; the oldest go first",
        "workspace_local::full_outputs_are_kept_within_the_named_bounds";
    ARTIFACTS_ALL_BYTES_MAX: u64 = 4 << 30, "bytes",
        "full outputs of all workspaces together, open or not, at each hourly look; the oldest go first",
        "workspace_local::outputs_of_all_places_are_swept_by_age_and_size";
    ARTIFACTS_MAX: usize = 1_000, "files",
        "full outputs of a workspace; each has an entry in memory",
        "workspace_local::no_more_artifacts_are_kept_than_a_directory_bears";
    ARTIFACT_TTL_MS: u64 = 24 * 60 * 60 * 1_000, "ms",
        "how long a full output is kept; a day's work",
        "workspace_local::full_outputs_are_kept_within_the_named_bounds";
    TOOL_RESULTS_MAX: usize = 100_000, "results",
        "the largest limit a search or listing may be given",
        "workspace_local::arguments_out_of_bounds_are_named";
    LS_LIMIT_DEFAULT: usize = 500, "entries",
        "entries of a listing when no limit is given",
        "workspace_local::ls_lists_in_order_and_marks_what_links_lead_to";
    FIND_LIMIT_DEFAULT: usize = 1_000, "results",
        "paths found when no limit is given",
        "workspace_local::find_sorts_and_says_what_it_left_out";
    GREP_LIMIT_DEFAULT: usize = 100, "matches",
        "matches shown when no limit is given",
        "workspace_local::grep_stops_at_its_limit_in_one_order";
    GREP_CONTEXT_MAX: usize = 1_000, "lines",
        "lines around a match; more is a read",
        "workspace_local::arguments_out_of_bounds_are_named";
    GREP_LINE_CHARS_MAX: usize = 500, "characters",
        "a line among matches; minified files would fill the answer",
        "workspace_local::grep_cuts_long_lines_and_says_so";
    GREP_FILE_BYTES_MAX: usize = 256 * 1024, "bytes",
        "what is held of one file's lines, paths before them included; an answer for a model shows 50 KiB",
        "workspace_local::grep_holds_a_bounded_text_of_one_file";
    SEARCH_BYTES_MAX: usize = 8 << 20, "bytes",
        "results of one search or listing together; a hundred thousand paths of some length",
        "workspace_local::searches_and_listings_hold_a_bounded_text";
    GREP_HEAP_BYTES_MAX: usize = 16 << 20, "bytes",
        "memory of a searching thread; a longer line counts as too large",
        "workspace_local::grep_says_what_it_passed_over";
    PATTERN_BYTES_MAX: usize = 4 * 1024, "bytes",
        "a pattern of a search as written; a line of code, many times over",
        "workspace_local::a_costly_pattern_is_refused_in_few_words";
    PATTERN_SHOWN_CHARS_MAX: usize = 200, "characters",
        "how much of a refused pattern is repeated to its writer",
        "workspace_local::a_costly_pattern_is_refused_in_few_words";
    PATTERN_DEPTH_MAX: u32 = 100, "levels",
        "groups within groups of a regular expression; its parser recurses",
        "workspace_local::a_costly_pattern_is_refused_in_few_words";
    GREP_REGEX_BYTES_MAX: usize = 4 << 20, "bytes",
        "a compiled expression, of which a search holds three forms",
        "workspace_local::a_costly_pattern_is_refused_in_few_words";
    GREP_DFA_BYTES_MAX: usize = 4 << 20, "bytes",
        "the states a searching thread remembers; beyond it they are made anew",
        "workspace_local::costly_searches_side_by_side_hold_little_memory";
    IMAGE_FILE_BYTES_MAX: u64 = 64 << 20, "bytes",
        "a picture's file; what cameras write",
        "workspace_local::a_giant_picture_is_refused_unread";
    WRITE_BYTES_MAX: usize = 64 << 20, "bytes",
        "content of one write; more is an upload",
        "workspace_local::content_beyond_a_call_is_refused";
    EDIT_FILE_BYTES_MAX: u64 = 64 << 20, "bytes",
        "a file that is edited; it is held in memory four times, with line ends alike and in normal form as well",
        "workspace_local::a_giant_file_is_not_edited";
    EDITS_MAX: usize = 1_000, "edits",
        "replacements of one call",
        "workspace_local::arguments_out_of_bounds_are_named";
    BASH_TIMEOUT_MS_DEFAULT: u64 = 600_000, "ms",
        "when a command is ended that was given no timeout; long enough for builds",
        "workspace_local::a_timeout_keeps_the_output_and_says_so";
    PROGRESS_PENDING_BYTES_MAX: usize = 256 * 1024, "bytes",
        "output a watcher has not looked at; the oldest is dropped",
        "workspace_local::a_watcher_who_does_not_look_costs_a_bounded_memory";
    PROGRESS_INTERVAL_MS: u64 = 100, "ms",
        "pause between pieces of progress; faster than eyes",
        "workspace_local::progress_is_told_in_pieces_with_a_pause_between_them";
    RECENT_CALLS_MAX: usize = 64, "calls",
        "changes remembered by their key, so that a repeated one is not done twice",
        "workspace_local::as_many_calls_are_remembered_as_the_limit_says";
    READDIR_ENTRIES_MAX: usize = 50_000, "entries",
        "entries of a primitive listing; about 5 MB on a wire",
        "workspace_local::a_listing_beyond_its_bound_is_refused";
    TRANSFER_PIECE_BYTES: usize = 256 * 1024, "bytes",
        "a piece of a download; few enough hops, little memory",
        "workspace_local::downloads_come_in_pieces_with_size_and_hash";
    TRANSFER_IDLE_MS: u64 = 30_000, "ms",
        "silence after which an upload is given up, since it holds its file's lane",
        "workspace_local::a_silent_upload_gives_its_file_free";
    TRANSFER_MS_MAX: u64 = 6 * 3_600_000, "ms",
        "how long an upload may take, since it holds its file's lane; the longest at 3 MB a second",
        "workspace_local::an_upload_that_comes_in_drops_gives_its_file_free";
    UPLOAD_BYTES_MAX: u64 = 64 << 30, "bytes",
        "one upload; a disk image",
        "workspace_local::uploads_are_checked_before_they_are_published";
    TREE_ENTRIES_MAX: usize = 100_000, "entries",
        "files and directories of one transfer; the largest dependencies of a project",
        "workspace::a_tree_is_bounded_in_every_way";
    TREE_DEPTH_MAX: usize = 64, "directories",
        "inside one another in one transfer; each is an open handle while it is written",
        "workspace::a_tree_is_bounded_in_every_way";
    TREE_MANIFEST_BYTES_MAX: usize = 24 << 20, "bytes",
        "what a directory's transfer says of its entries; so many with paths of some 100 bytes",
        "workspace::a_tree_is_bounded_in_every_way";
    HELD_UPLOADS_MAX: usize = 8, "uploads",
        "that broke off and are kept to be gone on with; each holds an open file and disk space",
        "workspace_local::uploads_that_broke_off_are_kept_up_to_a_bound";
    HELD_UPLOAD_MS: u64 = 600_000, "ms",
        "how long one is kept; a line that is away for longer is another day's",
        "workspace_local::uploads_that_broke_off_are_kept_for_a_while";
    COPY_PROGRESS_MS: u64 = 100, "ms",
        "between two reports of how far a copy has come; faster than eyes",
        "cli::files_and_directories_go_and_come_and_go_on";
    COPY_PAUSE_MS: u64 = 250, "ms",
        "before the second attempt of a copy, and twice as long before each further one: a line comes back meanwhile",
        "workspace_remote::a_copy_goes_on_where_it_broke_off";
    COPY_ATTEMPTS_MAX: u32 = 5, "attempts",
        "of one copy, each of which goes on where the one before broke off",
        "workspace_remote::a_copy_goes_on_where_it_broke_off";

    // provider
    SSE_LINE_BYTES_MAX: usize = 4 << 20, "bytes",
        "a line of a vendor's stream; the largest known hold a whole encrypted thought",
        "provider::lines_and_events_are_bounded";
    SSE_EVENT_BYTES_MAX: usize = 8 << 20, "bytes",
        "an event of a vendor's stream, its lines together",
        "provider::lines_and_events_are_bounded";
    PROVIDER_ANSWER_BYTES_MAX: usize = 64 << 20, "bytes",
        "one model's answer on the wire; a hundred times the longest that models write",
        "provider::an_endless_answer_is_cut_off";
    PROVIDER_ERROR_BYTES_MAX: usize = 64 << 10, "bytes",
        "how much of a vendor's error or page is looked at; more is no message",
        "provider::a_hostile_page_is_looked_at_only_so_far";
    PROVIDER_ERROR_CHARS_MAX: usize = 300, "characters",
        "a vendor's words quoted in a failure; a sentence or two",
        "provider::pages_lose_their_tags";
    PROVIDER_CONNECT_SECONDS_MAX: u64 = 15, "seconds",
        "to connect to a vendor; retransmission of a lost first packet included",
        "provider::an_address_that_takes_no_connection_is_given_up";
    PROVIDER_HEADER_SECONDS_MAX: u64 = 120, "seconds",
        "from the request to the first of the answer; local models are loaded meanwhile",
        "provider::silence_has_limits";
    PROVIDER_IDLE_SECONDS_MAX: u64 = 300, "seconds",
        "between two pieces of an answer; models think long without a word",
        "provider::silence_has_limits";
    PROVIDER_ERROR_BODY_SECONDS_MAX: u64 = 10, "seconds",
        "for the body of an error; the status alone says the most",
        "provider::silence_has_limits";
    PROVIDER_MODELS_BYTES_MAX: usize = 8 << 20, "bytes",
        "a list of models; the largest aggregators send about one megabyte",
        "provider::a_list_of_models_is_read_only_so_far";
}
