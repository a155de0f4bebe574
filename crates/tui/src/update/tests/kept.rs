//! What is kept beyond the moment at which it was shown: a prompt that was refused, the way back to saved work.

use super::*;

#[test]
fn a_prompt_that_is_refused_can_be_sent_again() {
    let mut play = Play::of(Vec::new(), SIZE);
    play.keys("nfix it\n");
    let hint = "name one that is configured: --model a/b, for good: default_model = \"a/b\"";
    let refused = Failure::not_started("no_model", "no model is configured").with_hint(hint);
    play.tell(Msg::Done(Err(refused)));
    assert_eq!(play.notice(), "no model is configured");
    assert!(matches!(&play.state.mode, Mode::New(editor) if editor.text() == "fix it"));
    play.commands();
    play.key(Key::Enter);
    assert_eq!(play.commands(), [Command::Order(Order::Ask { prompt: "fix it".to_owned() })]);
    play.tell(Msg::Done(Ok("begun".to_owned())));
    assert_eq!((play.notice(), &play.state.mode), ("begun", &Mode::Normal));
}

#[test]
fn the_way_back_to_saved_work_stays_until_it_is_sent_away() {
    let mut play = Play::of(Vec::new(), SIZE);
    let told = "removed · web · saved: git -C /w switch -c web refs/stead/saved/1";
    play.tell(Msg::Done(Ok(told.to_owned())));
    play.keys("j");
    play.tell(Msg::Done(Ok("pinned · other".to_owned())));
    assert_eq!(play.state.memory.way_back.as_deref(), Some(told));
    play.key(Key::Esc);
    assert_eq!(play.state.memory.way_back, None);
    play.tell(Msg::Done(Ok(told.to_owned())));
    play.tell(Msg::Done(Ok("removed · other".to_owned())));
    assert_eq!(play.state.memory.way_back, None);
}
