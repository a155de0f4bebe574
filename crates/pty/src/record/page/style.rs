//! How a piece of text looks: what a terminal's numbers say, in the words of a style sheet.

/// The sixteen colors that programs know by number alone.
const NAMED: [u32; 16] = [
    0x1d_1f21, 0xcc_6666, 0xb5_bd68, 0xf0_c674, 0x81_a2be, 0xb2_94bb, 0x8a_beb7, 0xc5_c8c6,
    0x70_7070, 0xd5_4e53, 0xb9_ca4a, 0xe7_c547, 0x7a_a6da, 0xc3_97d8, 0x70_c0b1, 0xea_eaea,
];

const FOREGROUND: u32 = 0xd8_d8d8;
const BACKGROUND: u32 = 0x18_1818;

/// The style of text at some place of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Style {
    foreground: Option<u32>,
    background: Option<u32>,
    underline: Option<&'static str>,
    underline_color: Option<u32>,
    /// The numbers that are switched on: 1 bold, 2 dim, 3 italic, 7 inverse, 8 hidden, 9 struck out. Nothing
    /// blinks on a page.
    on: u16,
}

impl Style {
    /// Follows a sequence's numbers.
    pub(super) fn select(&mut self, params: &str) {
        let mut params = params.split(';');
        while let Some(param) = params.next() {
            let mut parts = param.split(':').map(|part| part.parse::<u32>().unwrap_or(0));
            let number = parts.next().unwrap_or(0);
            let rest: Vec<u32> = parts.collect();
            match number {
                0 => *self = Self::default(),
                1 | 2 | 3 | 7 | 8 | 9 => self.on |= 1 << number,
                4 => self.underline = underline(rest.first().copied().unwrap_or(1)),
                30..=37 => self.foreground = Some(indexed(number - 30)),
                90..=97 => self.foreground = Some(indexed(number - 82)),
                40..=47 => self.background = Some(indexed(number - 40)),
                100..=107 => self.background = Some(indexed(number - 92)),
                39 => self.foreground = None,
                49 => self.background = None,
                38 | 48 | 58 => {
                    let color = if rest.is_empty() {
                        let mut numbers = params.by_ref().map(|n| n.parse().unwrap_or(0));
                        extended(&mut numbers)
                    } else {
                        // The color space, which nobody fills in, stands before three channels.
                        let skipped = usize::from(rest[0] == 2 && 4 < rest.len());
                        extended(&mut rest[..1].iter().chain(&rest[1 + skipped..]).copied())
                    };
                    match number {
                        38 => self.foreground = color,
                        48 => self.background = color,
                        _ => self.underline_color = color,
                    }
                }
                _ => {}
            }
        }
    }

    fn is_on(&self, number: u16) -> bool {
        self.on & (1 << number) != 0
    }

    /// Returns it in the words of a style sheet; empty for plain text.
    pub(super) fn css(&self) -> String {
        let mut css = String::new();
        let (mut foreground, mut background) = (self.foreground, self.background);
        if self.is_on(7) {
            (foreground, background) =
                (Some(background.unwrap_or(BACKGROUND)), Some(foreground.unwrap_or(FOREGROUND)));
        }
        let mut say = |text: &str| css.push_str(text);
        if let Some(color) = foreground {
            say(&format!("color:#{color:06x};"));
        }
        if let Some(color) = background {
            say(&format!("background:#{color:06x};"));
        }
        for (number, text) in [
            (1, "font-weight:bold;"),
            (2, "opacity:.6;"),
            (3, "font-style:italic;"),
            (8, "visibility:hidden;"),
        ] {
            if self.is_on(number) {
                say(text);
            }
        }
        let lines = match (self.underline, self.is_on(9)) {
            (Some(style), true) => format!("text-decoration:underline line-through {style};"),
            (Some(style), false) => format!("text-decoration:underline {style};"),
            (None, true) => "text-decoration:line-through;".to_owned(),
            (None, false) => String::new(),
        };
        say(&lines);
        if let (Some(color), Some(_)) = (self.underline_color, self.underline) {
            say(&format!("text-decoration-color:#{color:06x};"));
        }
        css
    }
}

fn underline(style: u32) -> Option<&'static str> {
    match style {
        0 => None,
        2 => Some("double"),
        3 => Some("wavy"),
        4 => Some("dotted"),
        5 => Some("dashed"),
        _ => Some("solid"),
    }
}

fn extended(numbers: &mut dyn Iterator<Item = u32>) -> Option<u32> {
    match numbers.next()? {
        2 => {
            let (r, g, b) = (numbers.next()?, numbers.next()?, numbers.next()?);
            Some(r.min(255) << 16 | g.min(255) << 8 | b.min(255))
        }
        5 => numbers.next().map(indexed),
        _ => None,
    }
}

/// Returns a color of the 256: sixteen by name, a cube of six levels each, a ramp of grays.
fn indexed(index: u32) -> u32 {
    let level = |step: u32| if step == 0 { 0 } else { 55 + 40 * step };
    match index {
        0..16 => usize::try_from(index).ok().and_then(|at| NAMED.get(at)).copied().unwrap_or(0),
        16..232 => {
            let at = index - 16;
            level(at / 36) << 16 | level(at / 6 % 6) << 8 | level(at % 6)
        }
        _ => (8 + 10 * (index.min(255) - 232)) * 0x01_0101,
    }
}
