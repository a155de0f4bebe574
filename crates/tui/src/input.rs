//! What a terminal sends, as messages.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a key that means nothing here is none of its business, whichever it is"
)]

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::msg::{Key, Msg, Size};

/// Understands an event; none when it means nothing to the view.
pub(crate) fn understand(event: Event) -> Option<Msg> {
    match event {
        Event::Key(key) => key_of(key).map(Msg::Key),
        Event::Paste(text) => Some(Msg::Paste(text)),
        Event::Resize(columns, lines) => Some(Msg::Resize(size_of((columns, lines)))),
        Event::FocusGained | Event::FocusLost | Event::Mouse(_) => None,
    }
}

/// Counts cells as we do.
pub(crate) fn size_of((columns, lines): (u16, u16)) -> Size {
    Size { columns: columns.into(), lines: lines.into() }
}

fn key_of(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let (is_ctrl, is_alt) = (
        event.modifiers.contains(KeyModifiers::CONTROL),
        event.modifiers.contains(KeyModifiers::ALT),
    );
    let key = match event.code {
        KeyCode::Char(_) if is_alt => return None,
        KeyCode::Char(c) if is_ctrl => match c.to_ascii_lowercase() {
            // What terminals send for Ctrl-J and Ctrl-M is Enter, for Ctrl-H Backspace.
            'j' | 'm' => Key::Enter,
            'h' => Key::Backspace,
            c => Key::Ctrl(c),
        },
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Tab => Key::Tab,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        _ => return None,
    };
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: KeyCode, modifiers: KeyModifiers, expected: Option<Key>) {
        let told = understand(Event::Key(KeyEvent::new(code, modifiers)));
        assert_eq!(told, expected.map(Msg::Key), "{code:?} {modifiers:?}");
    }

    #[test]
    fn keys_are_understood() {
        check(KeyCode::Char('ü'), KeyModifiers::NONE, Some(Key::Char('ü')));
        check(KeyCode::Char('R'), KeyModifiers::SHIFT, Some(Key::Char('R')));
        check(KeyCode::Char('c'), KeyModifiers::CONTROL, Some(Key::Ctrl('c')));
        check(KeyCode::Char('j'), KeyModifiers::CONTROL, Some(Key::Enter));
        check(KeyCode::Char('x'), KeyModifiers::ALT, None);
        check(KeyCode::F(1), KeyModifiers::NONE, None);
        let mut release = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        release.kind = KeyEventKind::Release;
        assert_eq!(understand(Event::Key(release)), None);
    }

    #[test]
    fn other_events_are_understood() {
        assert_eq!(understand(Event::Paste("a".into())), Some(Msg::Paste("a".into())));
        let size = Size { columns: 80, lines: 24 };
        assert_eq!(understand(Event::Resize(80, 24)), Some(Msg::Resize(size)));
        assert_eq!(understand(Event::FocusLost), None);
    }
}
