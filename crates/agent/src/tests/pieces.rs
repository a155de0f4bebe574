//! Prompts and system texts.

use std::sync::Arc;

use provider::prompt::PromptMessage;
use vocab::{
    limits::{PROMPT_IMAGE_BYTES_MAX, PROMPT_TEXT_BYTES_MAX},
    message::{Mode, Part},
    outcome::{Content, Outcome},
};
use workspace::source::ToolSource as _;

use super::rig::*;
use crate::{
    prompt::{bounded, conversation},
    system::system_text,
    toolbelt::Toolbelt,
};

fn asked_with(parts: Vec<Part>, images: bool) -> Vec<Content> {
    let mut transcript = fresh(Mode::Auto, true);
    transcript.messages[0].parts = parts;
    match conversation(&transcript, images).into_iter().next() {
        Some(PromptMessage::User(content)) => content,
        other => panic!("no user speaks first: {other:?}"),
    }
}

#[test]
fn every_text_of_a_prompt_is_bounded() {
    let long = "é".repeat(PROMPT_TEXT_BYTES_MAX);
    let content = asked_with(vec![Part::Text { text: long.clone(), done: true }], true);
    let Content::Text { text } = &content[0] else { panic!() };
    assert!(text.len() < PROMPT_TEXT_BYTES_MAX + 100);
    assert!(text.ends_with("more bytes are not shown]"));
    let outcome = bounded(Outcome {
        content: vec![Content::text(long.clone()), Content::text(long)],
        details: None,
        failure: None,
    });
    assert!(outcome.plain_text().len() < PROMPT_TEXT_BYTES_MAX + 200);
}

#[test]
fn pictures_go_only_where_they_can_be_seen() {
    let file = |media_type: &str, len| Part::File {
        media_type: media_type.to_owned(),
        data: "A".repeat(len),
    };
    let small = || vec![file("image/png", 8)];
    assert!(matches!(asked_with(small(), true)[0], Content::Image { .. }));
    for (parts, images, why) in [
        (small(), false, "this model sees none"),
        (vec![file("image/png", PROMPT_IMAGE_BYTES_MAX + 1)], true, "too large"),
        (vec![file("application/pdf", 8)], true, "is not shown"),
    ] {
        let Content::Text { text } = &asked_with(parts, images)[0] else { panic!("{why}") };
        assert!(text.contains(why), "{text}");
    }
}

#[test]
fn the_system_text_names_the_tools_there_are_and_the_place() {
    let rig = Rig::new([]);
    let text = system_text(&rig.belt().kit(), Some("/home/me/site"));
    for part in ["- look: A tool of the tests.\n", "/home/me/site", "look before you try again"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains("bash") && !text.contains("More of it"));
    let bare = system_text(&Toolbelt::new(Vec::new()).kit(), None);
    assert!(!bare.contains("tools:") && !bare.contains("workspace is"));
}

#[test]
fn of_two_tools_with_one_name_the_first_source_wins() {
    let (first, second) = (Rig::new([]).tools, Rig::new([]).tools);
    let belt = Toolbelt::new(vec![first.clone(), second]);
    let kit = belt.kit();
    assert_eq!(kit.names(), ["look", "change", "exec", "alone"]);
    assert!(Arc::ptr_eq(&kit.tools()[0].spec, &first.catalog().tools()[0]));
    assert!(Arc::ptr_eq(&kit, &belt.kit()), "nothing changed, so nothing is built anew");
}
