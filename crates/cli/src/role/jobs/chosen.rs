//! Which job or session a word means to a command that changes it. A whole name, an id or enough of one is clear. A
//! part of a name is too easily another one's: the person is asked, and where nobody can be, nothing is done.
//!
//! Not here: what a word could mean at all, which the daemon finds out.

use api::{client::Client, job::JobRow};
use vocab::outcome::Failure;

use super::{id_of, show};
use crate::{
    args::Asks,
    print::clean,
    role::{
        run::ask,
        sessions::{can_ask, names_id, why_unclear},
    },
};

/// Finds what a word means, and makes sure that it is meant. `verb` is the command's word.
///
/// # Errors
/// When it means nothing or several things, or a part of a name that nobody stands by.
pub(super) async fn row(
    client: &Client,
    (verb, word): (&str, &str),
    asks: Asks,
) -> Result<JobRow, Failure> {
    stands_by(show(client, word).await?, (verb, word), asks).await
}

/// Makes sure that what a word was found to mean is meant.
///
/// # Errors
/// When it is a part of a name that nobody stands by.
pub(super) async fn stands_by(
    row: JobRow,
    (verb, word): (&str, &str),
    asks: Asks,
) -> Result<JobRow, Failure> {
    if asks.yes || is_clear(word, &row) {
        return Ok(row);
    }
    let (id, name) = (id_of(&row), clean::clean_line(&row.name));
    if !can_ask() {
        return Err(unclear(verb, word, &row));
    }
    if ask::agrees(&format!("{verb} {name} ({id})? [y/N] ")).await {
        return Ok(row);
    }
    Err(Failure::not_started("denied", format!("{verb} was not done to {name} ({id})")))
}

/// Tells whether a word is a whole name, an id, or enough of an id.
fn is_clear(word: &str, row: &JobRow) -> bool {
    row.name == word || names_id(word, &row.id)
}

fn unclear(verb: &str, word: &str, row: &JobRow) -> Failure {
    let (id, name) = (id_of(row), clean::clean_line(&row.name));
    let what = why_unclear(word, ("name", &row.name), &row.id);
    let why = format!("{word:?} is {what} {name} ({id}), and there is no terminal to ask at");
    let hint =
        format!("stead {verb} {id} names it by its id; its whole name, or -y, works as well");
    Failure::not_started("usage", why).with_hint(hint)
}
