//! Bounds of the rooms above the seams: the loop, the daemon, sessions.
//!
//! Rows only; what a row is stands in the module above.

limits! { ROOMS:
    // daemon
    STATE_FILE_BYTES_MAX: u64 = 4 << 20, "bytes",
        "a registration, a credential, a configuration or a script; something larger is not ours",
        "daemon::a_state_file_over_its_bound_is_refused";
    DAEMON_LOCK_DYING_MS: u64 = 2_000, "ms",
        "how long a lock that a dead daemon took is waited for; a child that is being born has it until it is its program",
        "daemon::what_a_dead_daemon_leaves_of_its_lock_is_waited_for_a_while";
    SECRET_BYTES_MAX: usize = 8 * 1024, "bytes",
        "a provider's key; the longest known ones are signed tokens of some 3 KiB",
        "daemon::a_name_cannot_leave_the_directory_and_a_key_is_one_line";
    SECRET_NAME_BYTES_MAX: usize = 64, "bytes",
        "a provider's name, which becomes a file name",
        "daemon::a_name_cannot_leave_the_directory_and_a_key_is_one_line";
    HUB_EVENTS_MAX: usize = 256, "events",
        "facts held for listeners that are a little behind; the store has the rest",
        "daemon::a_listener_that_falls_behind_misses_nothing";
    EVENT_PAGE_ROWS_MAX: usize = 200, "rows",
        "facts read from the store at once for one listener; under 1 MiB at 4 KiB each",
        "daemon::a_listener_that_falls_behind_misses_nothing";
    WORKSPACES_OPEN_MAX: usize = 64, "workspaces",
        "open places; each holds a few handles and threads",
        "daemon::idle_workspaces_make_room_for_new_ones";
    WORKSPACES_ADDED_MAX: usize = 1_000, "workspaces",
        "places that were added; more than anybody lists, in a file that is read whole",
        "daemon::places_are_added_and_removed_up_to_a_bound";
    WORKSPACE_NAME_BYTES_MAX: usize = 64, "bytes",
        "a name of a place; a word that people type",
        "daemon::names_of_places_are_plain";
    DRAIN_MS_MAX: u64 = 30_000, "milliseconds",
        "one stage of the drain; longer than a run takes to end: its calls, then what it left running",
        "daemon::a_drain_gives_up_on_what_does_not_end";

    // what a project says about itself
    PROJECT_FILE_BYTES_MAX: usize = 64 * 1024, "bytes",
        "a file of instructions, a rule or a skill; ten times what people write, and every model call carries it",
        "agent::what_a_project_says_of_itself_is_bounded";
    PROJECT_BYTES_MAX: usize = 256 * 1024, "bytes",
        "of all files of a project that a model is told; some 64 thousand tokens, which fit every window in use",
        "agent::what_a_project_says_of_itself_is_bounded";
    PROJECT_SKILLS_MAX: usize = 64, "skills",
        "of a project; one line of each stands in every prompt",
        "agent::what_a_project_says_of_itself_is_bounded";
    SKILL_NAME_BYTES_MAX: usize = 64, "bytes",
        "a skill's name, as those who write them agreed on",
        "agent::what_is_no_skill_is_left_out_with_a_reason";
    SKILL_DESCRIPTION_BYTES_MAX: usize = 1_024, "bytes",
        "what is told of a skill, as those who write them agreed on; the rest is cut",
        "agent::skills_are_told_by_what_stands_at_their_head";
    PROJECT_ENTRIES_MAX: usize = 128, "entries",
        "names that count in one directory of rules or skills; twice what is told",
        "sessions::a_directory_of_rules_counts_up_to_a_bound";
    PROJECT_READ_MS: u64 = 10_000, "ms",
        "until a run begins without what its project says; a line that is taken up again is there by then",
        "sessions::a_workspace_that_does_not_answer_holds_no_run_up";

    // sessions
    LIVE_FRAMES_MAX: usize = 128, "frames",
        "frames of a live run held for readers that are a little behind; the fold has the rest",
        "sessions::live_frames_bound_what_a_slow_reader_costs_and_it_loses_nothing";
    READER_BEHIND_BYTES_MAX: usize = 4 << 20, "bytes",
        "how far a reader may fall behind before it is cut and comes back at its position",
        "sessions::a_reader_behind_its_budget_is_cut";
    READER_PIECE_BYTES_MAX: usize = 64 * 1024, "bytes",
        "text that a reader takes from the fold at once; it holds no more, however far behind it is",
        "sessions::many_readers_of_a_long_message_hold_a_piece_each";
    PROGRESS_TAIL_BYTES_MAX: usize = 50 * 1024, "bytes",
        "output of a running call kept for readers that join; the outcome holds no more either",
        "sessions::progress_keeps_a_bounded_tail_for_those_who_come_late";
    RUNS_LIVE_MAX: usize = 64, "runs",
        "runs that work at the same time; more would only wait for this machine",
        "sessions::runs_are_bounded_and_one_per_session";
    ABORT_WAIT_MS_MAX: u64 = 25_000, "milliseconds",
        "how long a stop waits for the run's last fact before it answers; its calls and what it left take 20 s",
        "sessions::a_stop_answers_when_the_run_has_told_its_last_fact";
    USER_PARTS_MAX: usize = 64, "parts",
        "parts of one user message",
        "sessions::a_user_message_is_bounded";
    USER_TEXT_BYTES_MAX: usize = PROMPT_TEXT_BYTES_MAX, "bytes",
        "text of one user message; what a model is shown, so that nothing a person says is cut unseen",
        "sessions::a_user_message_is_bounded";
    USER_FILE_BYTES_MAX: usize = PROMPT_IMAGE_BYTES_MAX, "bytes",
        "one attached file in base64; what a model is shown",
        "sessions::a_user_message_is_bounded";
    TITLE_CHARS_MAX: usize = 60, "characters",
        "a title taken from the first message; one line of a list",
        "sessions::a_title_is_one_short_line";

    // agent
    STEPS_MAX: u32 = 200, "model calls of a run",
        "a run that needs more is lost in a circle; a person can tell it to go on",
        "agent::the_step_limit_ends_a_run_with_a_note";
    CALLS_AT_ONCE_MAX: usize = 8, "calls",
        "calls of one batch that run side by side; more would fight over disk and cores",
        "agent::no_more_calls_run_at_once_than_allowed";
    TEXT_STORE_MS: u64 = 1_000, "milliseconds",
        "how much of a model's words may be lost when the daemon dies; longer for a part over 1 MiB, whose bound is the rate",
        "agent::text_is_stored_at_intervals_of_time_and_size";
    TEXT_STORE_BYTES: usize = 16 * 1024, "bytes",
        "how much of a model's words may be lost when the daemon dies; a quarter of the part once that is more, since all of it is written again",
        "agent::text_is_stored_at_intervals_of_time_and_size";
    TEXT_STORE_RATE_MAX: usize = 1024 * 1024, "bytes a second",
        "an open part written again because of time alone; one of 8 MiB that grows slowly is stored every 8 s and not every second",
        "agent::storing_a_growing_answer_writes_a_few_times_its_length";
    ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024, "bytes",
        "one model answer in memory; ten times what any model writes at once",
        "agent::an_endless_answer_is_cut_off";
    RETRY_ATTEMPTS_MAX: u32 = 3, "attempts",
        "of one model call; what fails three times needs a person",
        "agent::retries_end_and_the_run_fails";
    RETRY_WAIT_MS_BASE: u64 = 2_000, "milliseconds",
        "the wait before the second attempt of a model call; it doubles",
        "agent::retries_end_and_the_run_fails";
    RETRY_WAIT_MS_MAX: u64 = 60_000, "milliseconds",
        "the longest wait a provider may ask for; a longer one is a failure said at once",
        "agent::a_wait_beyond_bearing_fails_at_once";
    ABORT_WAIT_MS: u64 = 10_000, "milliseconds",
        "how long calls of a stopped run may take to end before nobody can tell what they did",
        "agent::an_abort_does_not_wait_for_ever_for_a_call";
    END_RUN_WAIT_MS: u64 = 10_000, "milliseconds",
        "how long the end of a run waits for what it left running",
        "agent::the_end_of_a_run_does_not_wait_for_ever_for_its_tools";
    PROMPT_TEXT_BYTES_MAX: usize = 256 * 1024, "bytes",
        "one text of a prompt, about 64,000 tokens; no context bears several of them",
        "agent::every_text_of_a_prompt_is_bounded";
    PROMPT_IMAGE_BYTES_MAX: usize = 7 * 1024 * 1024, "bytes",
        "base64 of one picture of a prompt; providers refuse pictures over 5 MiB",
        "agent::pictures_go_only_where_they_can_be_seen";
    TOKENS_MAX: u64 = 1 << 53, "tokens",
        "one count of a vendor's, and a session's sum; what every reader of JSON holds exactly, and no model gets near",
        "store::counts_of_tokens_stay_numbers";
    CALL_NAME_BYTES_MAX: usize = 200, "bytes",
        "a call's id and its tool's name, as models write them; both stand in facts",
        "agent::names_that_models_write_are_bounded";
    RUN_FAILURE_BYTES_MAX: usize = 800, "bytes",
        "message and hint of a failed run, each; facts are thin",
        "agent::a_long_failure_is_cut_in_the_fact";
    ANSWER_HOURS: u32 = 168, "hours",
        "how long a question waits before it counts as denied; a week covers a weekend and an illness",
        "sessions::a_question_that_nobody_answers_counts_as_denied";
    GO_ON_RETRY_MS: u64 = 300_000, "milliseconds",
        "until an answered run that could not go on is tried again; a key or a model may be there by then",
        "sessions::time_denies_without_a_model_and_goes_on_once_there_is_one";
    LOOK_AGAIN_MS: u64 = 60_000, "milliseconds",
        "until a run is looked at again that the store, or whoever holds it, kept from being dealt with",
        "sessions::an_answered_run_whose_first_write_fails_is_not_begun_over_and_over";
    SCRATCH_SWEEP_MAX: usize = 1_000, "directories",
        "scratch directories that one sweep asks the store about; the next goes on after them",
        "sessions::a_sweep_looks_at_so_many_directories_and_the_next_goes_on_after_them";
    ROSTER_SESSIONS_MAX: usize = 1_000, "sessions",
        "in the list of jobs and sessions, latest activity first; `sessions list` pages through all",
        "sessions::so_many_sessions_stand_in_the_list_of_all";
    ROSTER_QUESTION_CHARS_MAX: usize = 120, "characters",
        "of the call that a session asks for, in lists and notifications; all of it is asked where it is answered",
        "sessions::a_question_takes_one_line_and_no_more_than_its_room";
}
