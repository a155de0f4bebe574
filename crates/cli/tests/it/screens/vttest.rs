//! vttest, the test of terminals: every screen of its main menus.

use super::{SIZES, same, stage::Stage, xterm::Xterm};
use crate::home::Home;

const NEXT: &str = "Push <RETURN>";
const MENU: &str = "Enter choice number";

/// Goes through the screens of a choice, of which the last may lead to a menu below it.
fn check(choices: &[&str]) {
    let Some(mut xterm) = Xterm::start() else { return };
    for size @ (columns, lines) in SIZES {
        let home = Home::new();
        let shape = format!("{lines}x{columns}.{columns}");
        let mut stage = Stage::new(&home, &mut xterm, size, &["vttest", &shape]);
        stage.hear(&[MENU]);
        stage.look();
        let mut depth = 1;
        for (idx, choice) in choices.iter().enumerate() {
            stage.keys(&format!("{choice}\r"));
            let mut n_screens = 0;
            while stage.hear(&[MENU, NEXT]) == 1 {
                n_screens += 1;
                stage.look();
                stage.keys("\r");
            }
            // A choice without a screen is a menu of its own.
            depth += usize::from(n_screens == 0);
            stage.look();
            if idx == 0 {
                stage.take();
            }
        }
        for _ in 1..depth {
            stage.keys("0\r");
            stage.hear(&[MENU]);
        }
        stage.keys("0\r");
        let (run, xterm) = stage.end();
        same::check(&format!("vttest {choices:?}"), &run, xterm);
    }
}

#[test]
fn stranger_xterm_sees_vttest_move_the_cursor() {
    check(&["1"]);
}

#[test]
fn stranger_xterm_sees_vttest_use_the_screen() {
    check(&["2"]);
}

#[test]
fn stranger_xterm_sees_vttest_draw_character_sets() {
    check(&["3"]);
}

#[test]
fn stranger_xterm_sees_vttest_draw_large_letters() {
    check(&["4"]);
}

#[test]
fn stranger_xterm_sees_vttest_insert_and_delete() {
    check(&["8"]);
}

#[test]
fn stranger_xterm_sees_vttest_use_colors() {
    check(&["11", "6", "2", "4", "5"]);
}
