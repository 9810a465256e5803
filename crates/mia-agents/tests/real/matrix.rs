//! Agent × case: every case is run with every agent.
//!
//! docs/agents.md is made from this list. A line is: what is shown, in words; the ability that it
//! takes, where not every agent has it; the case. Where an agent lacks the ability the same case
//! checks that it does what it is said to do instead.

use crate::world::{Killed, World};

macro_rules! cases {
    ($agent:ty) => {
        run! { $agent:
            "an answer streams" [Deltas] answers::m_026_an_answer_streams;
            "thinking is shown" [Thoughts] answers::m_026_thoughts_are_shown;
            "parallel tools and their results, paired by id" [OpenTools] answers::m_009_tools_are_paired_with_their_results;
            "the conversation goes on in a second process" [Resume] sessions::m_017_the_conversation_goes_on_in_a_second_process;
            "a stale session is replaced, and that is told" sessions::m_018_a_stale_session_is_replaced_and_told;
            "an error of the provider does not cost the session" sessions::m_018_an_error_of_the_provider_does_not_cost_the_session;
            "errors of the provider: 400, 401, 429, 500" [GivesUp] errors::m_026_errors_of_the_provider_have_their_cause;
            "an error that passes is no error" [RetryNotices] errors::m_026_an_error_that_passes_is_no_error;
            "without a key it says what to do" errors::m_026_without_a_key_it_says_what_to_do;
            "a provider that never answers: the time limit ends it" errors::m_026_a_provider_that_never_answers_is_ended_by_the_limit;
            "a stream that is cut once: its text once" [Reconnects] errors::m_026_a_stream_that_is_cut_once_says_its_text_once;
            "a stream that is always cut: one error, its text once" [GivesUp] errors::m_026_a_stream_that_is_always_cut_is_one_error;
            "an abort in mid-stream: nothing left, and the session goes on" [ResumeAfterAbort] ending::m_024_an_abort_in_mid_stream;
            "an abort in mid-tool: nothing left, and the session goes on" [ResumeAfterAbort] ending::m_024_an_abort_in_mid_tool;
            "`kill -9` of Mia: nothing left 6 s later" ending::m_021_nothing_lives_on_when_mia_is_killed;
            "a prompt of 1,000,000 bytes" [LongPrompts] prompts::m_011_a_prompt_of_1_000_000_bytes;
            "prompts like `-` and `--help`, none of them in an argument" prompts::m_011_odd_prompts_arrive_and_none_is_an_argument;
            "a folder with blanks and unicode" prompts::m_026_a_folder_with_blanks_and_unicode;
            "a picture" [Images] prompts::m_026_a_picture;
            "tokens of each dispatch, over three turns" [Usage] usage::m_006_tokens_are_of_the_dispatch;
            "tokens of a turn with a tool" [TurnUsage] usage::m_006_tokens_are_of_all_requests_of_the_turn;
            "cost of each dispatch, over three turns" [Cost] usage::m_006_the_cost_is_of_the_dispatch;
            "`read-only` changes nothing, and what was denied is told" [ReadOnly] permissions::m_026_read_only_changes_nothing;
            "`read-only` runs nothing that a foreign folder brings along" [ForeignFolders] permissions::m_026_read_only_runs_nothing_of_a_foreign_folder;
            "`edit` changes files unasked" [Edit] permissions::m_026_edit_changes_files_unasked;
            "`full` does anything unasked" [Full] permissions::m_026_full_does_anything_unasked;
            "a question is asked, and its answer obeyed" [Questions] permissions::m_026_a_question_is_asked_and_its_answer_obeyed;
            "no secret of the caller, and no call but to the model" environment::m_013_no_canary_and_no_other_call;
            "the model that was chosen" [Model] environment::m_013_the_chosen_model_is_asked;
            "the suite that every plugin has to pass" conformance::m_001_it_conforms;
        }
    };
}

macro_rules! run {
    ($agent:ty: $($words:literal $([$ability:ident])? $room:ident::$case:ident;)*) => {
        $(
            #[tokio::test]
            async fn $case() {
                if let Some(world) = World::<$agent>::new().await {
                    crate::cases::$room::$case(world).await;
                }
            }
        )*

        #[tokio::test]
        #[ignore = "a test starts and kills it"]
        async fn the_mia_that_is_killed() {
            if let Some(killed) = Killed::from_env() {
                crate::cases::ending::wait_to_be_killed::<$agent>(killed).await;
            }
        }
    };
}

mod claude_code {
    use super::*;
    cases!(mia_agents::ClaudeCode);
}

mod codex {
    use super::*;
    cases!(mia_agents::Codex);
}

mod gemini {
    use super::*;
    cases!(mia_agents::Gemini);
}

mod opencode {
    use super::*;
    cases!(mia_agents::OpenCode);
}

mod qwen {
    use super::*;
    cases!(mia_agents::Qwen);
}
