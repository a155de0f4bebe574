//! What a user says: bounded before anything is stored, and the source of a title.

use vocab::{
    limits::{TITLE_CHARS_MAX, USER_FILE_BYTES_MAX, USER_PARTS_MAX, USER_TEXT_BYTES_MAX},
    message::Part,
    outcome::Failure,
};

/// Takes the beginning of the first words as a title.
#[must_use]
pub fn title_of(parts: &[Part]) -> String {
    let text = parts.iter().find_map(|part| {
        if let Part::Text { text, .. } = part { Some(text.as_str()) } else { None }
    });
    let line = text.unwrap_or_default().trim().lines().next().unwrap_or_default();
    let clean: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut chars = clean.chars();
    let title: String = chars.by_ref().take(TITLE_CHARS_MAX).collect();
    let title = title.trim_end();
    if chars.next().is_some() { format!("{title}…") } else { title.to_owned() }
}

/// Checks that a user's message holds words and files, and not too much of them.
///
/// # Errors
/// When it is empty, holds something else, or is out of bounds.
pub fn check(parts: &[Part]) -> Result<(), Failure> {
    let refuse = |why: String| Err(Failure::not_started("invalid_field", why));
    if parts.is_empty() {
        return refuse("the last message must be a user's and hold text or a file".into());
    }
    if parts.len() > USER_PARTS_MAX {
        return refuse(format!("a message has at most {USER_PARTS_MAX} parts"));
    }
    let mut text_bytes = 0;
    for part in parts {
        match part {
            Part::Text { text, .. } => text_bytes += text.len(),
            Part::File { data, .. } if data.len() > USER_FILE_BYTES_MAX => {
                let bytes = data.len();
                return refuse(format!(
                    "a file has {bytes} bytes in base64, and a model is shown at most {USER_FILE_BYTES_MAX}"
                ));
            }
            Part::File { .. } => {}
            Part::Step { .. }
            | Part::Reasoning { .. }
            | Part::Call { .. }
            | Part::Steer { .. }
            | Part::Note { .. } => {
                return refuse("a user's message holds text and files only".into());
            }
        }
    }
    let silent = |part: &Part| matches!(part, Part::Text { text, .. } if text.trim().is_empty());
    if parts.iter().all(silent) {
        return refuse("the last message says nothing: it holds neither words nor a file".into());
    }
    if text_bytes > USER_TEXT_BYTES_MAX {
        let why = format!(
            "the message has {text_bytes} bytes of text, and a model is shown at most {USER_TEXT_BYTES_MAX}"
        );
        return Err(Failure::not_started("invalid_field", why)
            .with_hint("put it into a file of the workspace and name its path"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::limits::{PROMPT_IMAGE_BYTES_MAX, PROMPT_TEXT_BYTES_MAX};

    fn text(text: &str) -> Part {
        Part::Text { text: text.to_owned(), done: true }
    }

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(title_of(&[text("\n fix the\tbug \nplease")]), "fix the bug");
        let long = "ä".repeat(TITLE_CHARS_MAX + 1);
        assert_eq!(title_of(&[text(&long)]).chars().count(), TITLE_CHARS_MAX + 1);
        assert_eq!(title_of(&[]), "");
    }

    #[test]
    fn a_user_message_is_bounded() {
        let file = |data: String| Part::File { media_type: "image/png".into(), data };
        assert!(check(&[text("hi"), file("x".into())]).is_ok());
        assert!(check(&[text(" "), file("x".into())]).is_ok());
        assert!(check(&[text(&"x".repeat(USER_TEXT_BYTES_MAX))]).is_ok());
        // What is taken is shown whole: nothing is cut behind a person's back.
        const { assert!(USER_TEXT_BYTES_MAX <= PROMPT_TEXT_BYTES_MAX) };
        const { assert!(USER_FILE_BYTES_MAX <= PROMPT_IMAGE_BYTES_MAX) };
        let bad = [
            vec![],
            vec![text(""), text(" \n\t")],
            vec![text("x"); USER_PARTS_MAX + 1],
            vec![text(&"x".repeat(USER_TEXT_BYTES_MAX)), text("x")],
            vec![file("x".repeat(USER_FILE_BYTES_MAX + 1))],
            vec![Part::Note { kind: "x".into(), text: "x".into() }],
        ];
        for parts in bad {
            assert_eq!(check(&parts).unwrap_err().code, "invalid_field");
        }
        let said = check(&[text(&"x".repeat(USER_TEXT_BYTES_MAX + 1))]).unwrap_err().to_string();
        assert!(said.contains("has 262145 bytes") && said.contains("at most 262144"), "{said}");
    }
}
