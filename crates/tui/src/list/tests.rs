//! The list, as values.

use super::*;
use crate::testing::{ended, row, rows, session_id};
use serde_json::json;

/// Returns the list in words: headings with their counts, rows by their ids.
fn told(list: &List) -> Vec<String> {
    let entry = |entry: &Entry| match entry {
        Entry::Gap => String::new(),
        Entry::Heading(group, n_rows) => format!("{} {n_rows}", group.heading()),
        Entry::Row(idx) => list.row(*idx).unwrap().id.clone(),
    };
    list.entries().iter().map(entry).collect()
}

#[test]
fn rows_stand_in_groups_with_pinned_ones_first() {
    let mut list = List::default();
    list.set_rows(rows());
    assert_eq!(
        told(&list),
        [
            "blocked, needs you 2",
            "0123abd0",
            &session_id(1),
            "",
            "working 3",
            "0123abcd",
            "0123abcf",
            "0123abce",
            "",
            "done 2",
            &session_id(2),
            "0123abd3",
            "",
            "failed, stopped 2",
            "0123abd1",
            "0123abd2",
        ]
    );
    assert_eq!(list.selected().unwrap().id, "0123abd0", "what needs a person comes first");
}

#[test]
fn a_filter_looks_at_everything_that_a_row_shows() {
    let mut list = List::default();
    list.set_rows(rows());
    for (filter, expected) in [
        ("TOTALS", vec!["done 1".to_owned(), session_id(2)]),
        ("codex", vec!["working 1".to_owned(), "0123abce".to_owned()]),
        ("漢字", vec!["working 1".to_owned(), "0123abce".to_owned()]),
        ("sigterm", vec!["failed, stopped 1".to_owned(), "0123abd2".to_owned()]),
        ("no such thing", vec![]),
    ] {
        list.set_filter(filter);
        assert_eq!(told(&list), expected, "{filter}");
    }
    list.set_filter("");
    assert_eq!(list.entries().len(), 16);
    assert_eq!(list.count(Group::Working), 3);
}

#[test]
fn what_is_selected_stays_so_and_its_place_is_taken_when_it_is_gone() {
    let mut list = List::default();
    list.set_rows(rows());
    list.move_by(3);
    assert_eq!(list.selected().unwrap().id, "0123abcf");
    // It goes to another group, and is followed there.
    let mut changed = rows();
    changed[2] =
        row("0123abcf", "server", &ended("done", "exit code 0", "2023-11-14T22:13:00.000Z"));
    list.set_rows(changed.clone());
    assert_eq!(list.selected().unwrap().id, "0123abcf");
    changed.remove(2);
    list.set_rows(changed);
    assert_eq!(list.selected().unwrap().id, session_id(2));
    list.set_rows(Vec::new());
    assert!(list.selected().is_none());
    list.move_by(1);
    list.set_rows(rows());
    assert_eq!(list.selected().unwrap().id, "0123abd0");
    list.move_by(isize::MAX);
    assert_eq!(list.selected().unwrap().id, "0123abd2");
    list.move_by(isize::MIN);
    assert_eq!(list.selected().unwrap().id, "0123abd0");
}

#[test]
fn a_thousand_rows_are_scrolled_so_that_the_selected_one_is_seen() {
    let many = (0..1_000).map(|n| row(&format!("{n:08x}"), &format!("job {n}"), &json!({})));
    let mut list = List::default();
    list.set_rows(many.collect());
    for (by, n_lines) in [(0, 10), (1, 10), (500, 7), (-20, 7), (isize::MAX, 3), (isize::MIN, 1)] {
        list.move_by(by);
        list.scroll_to(n_lines);
        let id = list.selected().unwrap().id.clone();
        let in_sight = list.entries().iter().skip(list.top()).take(n_lines);
        let is_seen = in_sight.clone().any(|entry| match entry {
            Entry::Row(idx) => list.row(*idx).unwrap().id == id,
            Entry::Heading(..) | Entry::Gap => false,
        });
        assert!(is_seen, "{by} {n_lines}");
        assert_eq!(in_sight.count(), n_lines);
    }
    assert_eq!(list.top(), 1);
    list.scroll_to(2);
    assert_eq!(list.top(), 0, "the heading of the first row is seen as well");
}
