//! What a project says about itself reaches the model as it stands, and from nowhere else.

#![expect(clippy::disallowed_methods, reason = "test files outside every workspace")]

use std::{fs, os::unix::fs::symlink, path::Path};

use vocab::{
    limits::{PROJECT_ENTRIES_MAX, PROJECT_FILE_BYTES_MAX},
    message::{Part, RunEnd, RunState},
};

use crate::{
    answers::{end_of, next_question},
    rig::{Awake, Rig, person, prompt},
};

fn put(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Runs a prompt to its end. Returns what the model was told first, and what people were told of it.
async fn told(awake: &Awake, rig: &Rig, words: &str) -> (String, Vec<String>) {
    let n_before = awake.actor.asked().len();
    let started = awake.sessions.start(&person(), prompt(words, &rig.work())).await.unwrap();
    assert_eq!(next_question(awake, &started).await, None);
    assert_eq!(end_of(awake, &started).await, RunState::Ended(RunEnd::Finished));
    let asked = awake.actor.asked().split_off(n_before);
    let system = asked.first().unwrap().system.clone();
    assert!(asked.iter().all(|prompt| prompt.system == system), "a prompt changed within a run");
    let transcript = awake.store.transcript(&started.session).await.unwrap();
    let notes = transcript.messages.iter().flat_map(|message| &message.parts).filter_map(|part| {
        let Part::Note { kind, text } = part else { return None };
        (kind == "project_files").then(|| text.clone())
    });
    (system, notes.collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_is_told_what_the_project_says_and_where_it_stands() {
    let rig = Rig::new();
    let (root, outside) = (rig.work(), rig.dir.path());
    put(outside, "AGENTS.md", "ABOVE THE ROOT");
    put(outside, "outside.md", "---\ndescription: OUTSIDE\n---\nOUTSIDE");
    put(outside, "skills/out/SKILL.md", "---\ndescription: OUTSIDE\n---");
    put(&root, "AGENTS.md", "Say please.");
    put(&root, "CLAUDE.md", "SECOND OF TWO");
    put(&root, "deeper/AGENTS.md", "BELOW");
    put(&root, ".agents/rules/b.md", "Rule b.");
    put(&root, ".agents/rules/a.md", "Rule a of agents.");
    put(&root, ".agents/rules/notes.txt", "NO RULE");
    put(&root, ".agents/rules/.hidden.md", "HIDDEN");
    put(&root, ".stead/rules/a.md", "Rule a.");
    put(&root, ".stead/skills/ship/SKILL.md", "---\ndescription: Ships it.\n---\nBODY");
    put(&root, ".agents/skills/ship/SKILL.md", "---\ndescription: Ships it too.\n---");
    put(&root, ".agents/skills/broken/SKILL.md", "no head");
    put(&root, ".agents/skills/empty/README.md", "NO SKILL");
    put(&root, "elsewhere/linked/SKILL.md", "---\ndescription: Is linked.\n---");
    symlink("../../elsewhere/linked", root.join(".agents/skills/linked")).unwrap();
    symlink("../../../outside.md", root.join(".agents/rules/out.md")).unwrap();
    symlink("../../../skills/out", root.join(".agents/skills/out")).unwrap();
    let awake = rig.wake(None).await.unwrap();
    let (system, notes) = told(&awake, &rig, "go").await;
    let root = fs::canonicalize(&root).unwrap();
    let at = |text: &str| system.find(text).unwrap_or_else(|| panic!("{text}: {system}"));
    assert!(at(" at ") < at("Say please."), "whose words these are stands before them");
    at(&format!(" at {}, say how to work there", root.display()));
    assert!(at("<project_file path=\"AGENTS.md\">") < at("path=\".stead/rules/a.md\""));
    assert!(at("Rule a.") < at("Rule b."));
    at("- ship: Ships it. (.stead/skills/ship/SKILL.md)");
    at("- linked: Is linked. (.agents/skills/linked/SKILL.md)");
    let never = [
        "ABOVE",
        "SECOND",
        "BELOW",
        "of agents",
        "NO RULE",
        "HIDDEN",
        "BODY",
        "it too",
        "NO SKILL",
        "OUTSIDE",
    ];
    for never in never {
        assert!(!system.contains(never), "{never}: {system}");
    }
    let [note] = notes.as_slice() else { panic!("{notes:?}") };
    for (path, why) in [
        (".agents/rules/a.md", "stands in .stead/rules/a.md already"),
        (".agents/rules/out.md", "outside"),
        (".agents/skills/ship/SKILL.md", "stands in .stead/skills/ship/SKILL.md already"),
        (".agents/skills/broken/SKILL.md", "no head"),
        (".agents/skills/out/SKILL.md", "outside"),
    ] {
        let reason = note.split("; ").find(|reason| reason.contains(path));
        assert!(reason.is_some_and(|reason| reason.contains(why)), "{path}: {note}");
    }
    awake.sleep().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_file_counts_where_the_first_one_cannot_be_read() {
    for (what, content) in
        [("a directory", None), ("a broken link", Some("")), ("too large", Some("x"))]
    {
        let rig = Rig::new();
        let first = rig.work().join("AGENTS.md");
        match content {
            None => fs::create_dir(&first).unwrap(),
            Some("") => symlink("missing", &first).unwrap(),
            Some(content) => fs::write(&first, content.repeat(PROJECT_FILE_BYTES_MAX + 1)).unwrap(),
        }
        put(&rig.work(), "CLAUDE.md", "Say please.");
        let awake = rig.wake(None).await.unwrap();
        let (system, notes) = told(&awake, &rig, "again").await;
        assert!(system.contains("Say please."), "{what}: {system}");
        assert_eq!(notes.len(), usize::from(content == Some("x")), "{what}: {notes:?}");
        awake.sleep().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changes_during_a_run_counts_from_the_next_one_on() {
    let rig = Rig::new();
    put(&rig.work(), "AGENTS.md", "Say please.");
    let awake = rig.wake(None).await.unwrap();
    let (first, _) = told(&awake, &rig, "grow").await;
    let (second, _) = told(&awake, &rig, "again").await;
    assert!(first.contains("Say please.") && !first.contains("Say thanks."));
    assert!(second.contains("Say please.\nSay thanks."), "{second}");
    awake.sleep().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_of_rules_counts_up_to_a_bound() {
    let rig = Rig::new();
    for idx in 0..=PROJECT_ENTRIES_MAX {
        put(&rig.work(), &format!(".stead/rules/{idx:04}.md"), &format!("Rule {idx}."));
    }
    let awake = rig.wake(None).await.unwrap();
    let (system, notes) = told(&awake, &rig, "again").await;
    assert_eq!(system.matches("Rule ").count(), PROJECT_ENTRIES_MAX);
    assert!(notes[0].contains(&format!("{PROJECT_ENTRIES_MAX} of {}", PROJECT_ENTRIES_MAX + 1)));
    awake.sleep().await;
}
