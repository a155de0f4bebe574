//! Every bound of the program in one table: number, unit, reason, and the test that meets it.
//!
//! The rows stand in five files, by the layer that keeps them; a new one goes to the end of its section.
//! The rows stand in five files, by the room or layer that keeps them; a new one goes to the end of its section.
//! A queue, body, frame, run or file without a row here is a bug. `cargo xtask gen` prints the table
//! into `docs/limits.md`, and `tidy` checks that it is there, that each named test exists, and that the
//! tests around it name the constant: a test that injects a smaller bound asserts there what the usual one is.

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// The constant's name.
    pub name: &'static str,
    /// The number.
    pub value: u64,
    /// What it counts.
    pub unit: &'static str,
    /// Why this number.
    pub because: &'static str,
    /// `crate::function` of the test that meets it.
    pub test: &'static str,
}

macro_rules! limits {
    ($rows:ident: $($name:ident: $type:ty = $value:expr, $unit:literal, $because:literal, $test:literal;)*) => {
        $(
            #[doc = $because]
            pub const $name: $type = $value;
        )*

        /// The rows of this file, in reading order.
        pub(super) const $rows: &[super::Limit] = &[
            $(super::Limit {
                name: stringify!($name),
                value: $name as u64,
                unit: $unit,
                because: $because,
                test: $test,
            },)*
        ];
    };
}

mod faces;
mod ground;
mod rooms;
mod servers;
mod terminals;
mod wires;

pub use faces::*;
pub use ground::*;
pub use rooms::*;
pub use servers::*;
pub use terminals::*;
pub use wires::*;

const N_ROWS: usize = ground::GROUND.len()
    + terminals::TERMINALS.len()
    + wires::WIRES.len()
    + servers::SERVERS.len()
    + rooms::ROOMS.len()
    + faces::FACES.len();

/// The whole table, from the ground up.
pub const TABLE: &[Limit] = &joined();

const fn joined() -> [Limit; N_ROWS] {
    let mut all = [ground::GROUND[0]; N_ROWS];
    let parts = [
        ground::GROUND,
        terminals::TERMINALS,
        wires::WIRES,
        servers::SERVERS,
        rooms::ROOMS,
        faces::FACES,
    ];
    let (mut part, mut row, mut at) = (0, 0, 0);
    while at < N_ROWS {
        if row < parts[part].len() {
            all[at] = parts[part][row];
            (row, at) = (row + 1, at + 1);
        } else {
            (part, row) = (part + 1, 0);
        }
    }
    all
}
