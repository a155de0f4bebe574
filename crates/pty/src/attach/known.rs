//! What is known of a person's terminal without asking it, so that its job is answered alike once it has left.
//!
//! Questions would cost a moment before the first picture, and their answers would come like keys. What nobody
//! knows is said as for a job that no terminal has seen. Not here: the environment, which whoever calls reads.

use screen::Persona;

use crate::hello::Terminal;

/// What the environment says of a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Its name and version (`TERM_PROGRAM`, `TERM_PROGRAM_VERSION`).
    pub name: Option<String>,
    /// Its colors as indices, text before ground (`COLORFGBG`).
    pub colors: Option<(u8, u8)>,
}

impl Known {
    /// Reads the three variables.
    #[must_use]
    pub fn read(program: Option<&str>, version: Option<&str>, colors: Option<&str>) -> Self {
        let name = program.filter(|program| !program.is_empty()).map(|program| match version {
            Some(version) if !version.is_empty() => format!("{program} {version}"),
            _ => program.to_owned(),
        });
        // Between the two some write a third, and "default" where they do not know.
        let colors = colors.and_then(|colors| {
            let (text, ground) = (colors.split(';').next()?, colors.rsplit(';').next()?);
            Some((text.parse().ok()?, ground.parse().ok()?))
        });
        Self { name, colors }
    }

    /// Says it to a host, with what the system knows of a cell.
    pub(super) fn told(&self, cell: Option<(u16, u16)>) -> Terminal {
        let Persona { attributes, version, name, cell: usual, foreground, background } =
            Persona::unseen();
        let (foreground, background) = match self.colors {
            Some((text, ground)) => (screen::usual_color(text), screen::usual_color(ground)),
            None => (foreground, background),
        };
        let (name, cell) = (self.name.clone().unwrap_or(name), cell.unwrap_or(usual));
        Terminal { attributes, version, name, cell, foreground, background }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_says_of_itself_is_told_and_the_rest_is_as_for_none() {
        let none = Known::read(None, Some("3"), Some("default;default"));
        assert_eq!(none, Known::default());
        let usual = none.told(None);
        assert_eq!((usual.cell, usual.foreground), ((10, 20), (0xd8, 0xd8, 0xd8)));
        let known = Known::read(Some("quick"), Some("3.1"), Some("0;default;15"));
        let told = known.told(Some((9, 18)));
        assert_eq!((told.name.as_str(), told.cell), ("quick 3.1", (9, 18)));
        assert_eq!((told.foreground, told.background), ((0, 0, 0), (255, 255, 255)));
        assert_eq!(told.attributes, usual.attributes);
        assert_eq!(Known::read(Some("quick"), None, Some("x")).name.as_deref(), Some("quick"));
    }
}
