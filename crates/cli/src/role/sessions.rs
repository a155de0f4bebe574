//! `stead sessions`: lists, shows and deletes.

pub(crate) mod pages;
pub(crate) mod resolve;
mod transcript;

pub(crate) use transcript::render as page;

use std::process::ExitCode;

use api::{
    agent::Done,
    client::{Client, Target},
    routes::Endpoint,
    session::SessionRow,
};
use serde_json::Value;
use stdx::clock::{Clock, Timestamp};
use vocab::outcome::Failure;

use crate::{
    args::Sessions,
    client, env, exit,
    print::{
        self, Look, Style,
        table::{DIRECTORY, Table},
        words,
    },
    role::run::{ask, how_to_answer},
};

/// Of how many sessions that wait a list says how they are answered.
const HINTS_SHOWN: usize = 3;

/// Says where a session works, also where that is no directory of this machine.
fn directory(row: &SessionRow) -> String {
    if row.cwd.is_empty() { format!("{}:", row.workspace) } else { row.cwd.clone() }
}

/// Runs the command.
pub(crate) fn run(command: Sessions) -> anyhow::Result<ExitCode> {
    super::block_on(async move {
        let client = client::connect(&env::paths()?).await?;
        match command {
            Sessions::List { query, limit, json } => {
                let rows_max = usize::try_from(limit).unwrap_or(usize::MAX);
                let rows = pages::all(&client, query.as_deref(), rows_max).await?;
                if json.json {
                    return Ok(print::json(&rows));
                }
                if rows.is_empty() {
                    let with = query.map(|text| format!(" whose title holds {text:?}"));
                    let with = print::clean::clean_line(&with.unwrap_or_default());
                    let gap = if with.is_empty() { "" } else { " " };
                    print::err(&format!("stead: there are no sessions{gap}{with}\n"));
                    return Ok(ExitCode::from(exit::OK));
                }
                let look = Look::of_process();
                let now = Clock::system().now();
                let code = print::out(&list(&rows, now, look.table_width(), look.out.style));
                let parked = rows.iter().filter(|row| row.state == "parked");
                for row in parked.take(HINTS_SHOWN) {
                    waits(&row.id);
                }
                Ok(code)
            }
            Sessions::Show { session, json } => show(&client, &session, json.json).await,
            Sessions::Rm { sessions, yes } => remove(&client, &sessions, yes).await,
        }
    })
}

fn list(rows: &[SessionRow], now: Timestamp, columns: usize, style: Style) -> String {
    let mut table = Table::new(&["ID", "TITLE", "STATE", "MODEL", DIRECTORY, "ACTIVE"]);
    for row in rows {
        let (id, active) = (words::short_id(&row.id), words::ago(now, &row.updated_at));
        let model = row.model.as_deref().unwrap_or("-");
        let state = tui::list::session_state(&row.state);
        table.row(&[id, &row.title, &state, model, &directory(row), &active]);
    }
    table.render(columns, style)
}

/// Says of a session that waits how it is answered.
pub(crate) fn waits(id: &str) {
    let (short, hint) = (words::short_id(id), how_to_answer(id));
    print::err(&format!("stead: {short} waits for an answer\n  hint: {hint}\n"));
}

/// Asks for a session's messages.
pub(crate) async fn messages(client: &Client, id: &str) -> Result<Value, Failure> {
    let target = Target::of(id);
    Ok(client.json::<(), _>(Endpoint::SessionMessages, target, None).await?)
}

/// Prints a session with its messages.
pub(crate) async fn show(client: &Client, text: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let detail = resolve::detail(client, text).await?;
    let messages = messages(client, &detail.row.id).await?;
    if as_json {
        let mut told = serde_json::to_value(&detail)?;
        if let Value::Object(fields) = &mut told {
            fields.insert("messages".to_owned(), messages);
        }
        return Ok(print::json(&told));
    }
    let list = messages.as_array().map_or(&[][..], Vec::as_slice);
    let code = print::out(&page(&detail, list, Look::of_process()));
    if detail.row.state == "parked" {
        waits(&detail.row.id);
    }
    Ok(code)
}

/// Deletes all that are meant, or none when one of the words is unclear or the person does not agree.
async fn remove(client: &Client, texts: &[String], agreed: bool) -> anyhow::Result<ExitCode> {
    let mut rows: Vec<SessionRow> = Vec::new();
    for text in texts {
        let row = resolve::session(client, text).await?;
        is_named(text, &row, ("sessions rm", agreed))?;
        if !rows.iter().any(|known| known.id == row.id) {
            rows.push(row);
        }
    }
    delete(client, rows, agreed).await
}

/// Tells whether there is a terminal to ask at.
pub(crate) fn can_ask() -> bool {
    print::stdin_is_terminal() && Look::of_process().err.terminal
}

/// Refuses a part of a title where nobody stands by it. A whole title and an id are as clear as those of a job.
/// Beside the command's words stands whether the person has agreed already.
pub(crate) fn is_named(
    text: &str,
    row: &SessionRow,
    (verb, agreed): (&str, bool),
) -> Result<(), Failure> {
    let is_clear = agreed || row.title == text || names_id(text, &row.id);
    if is_clear || can_ask() { Ok(()) } else { Err(by_title(text, row, verb)) }
}

/// Deletes sessions after asking, where somebody can be asked.
pub(crate) async fn delete(
    client: &Client,
    rows: Vec<SessionRow>,
    agreed: bool,
) -> anyhow::Result<ExitCode> {
    if can_ask() && !agreed && !agrees(&rows).await {
        print::err("stead: nothing was deleted\n");
        return Ok(ExitCode::from(exit::REFUSED));
    }
    for row in rows {
        let target = Target::of(&row.id);
        let done = client.json::<(), Done>(Endpoint::SessionDelete, target, None).await;
        done.map_err(Failure::from)?;
        let title = print::clean::clean_line(&row.title);
        print::err(&format!("removed · session {} · {title}\n", words::short_id(&row.id)));
    }
    Ok(ExitCode::from(exit::OK))
}

/// How much of an id names what it belongs to, where something is changed: one digit is a slip of the hand.
const ID_PART_MIN: usize = 4;

/// Tells whether a text is an id, or enough of its beginning or end, as it is or as lists show it: a title is too
/// easily another one's.
pub(crate) fn names_id(text: &str, id: &str) -> bool {
    n_digits_of(text, id).is_some_and(|n_digits| ID_PART_MIN <= n_digits)
}

/// Says why a text that is neither a whole name nor enough of an id does not stand for what it was found to mean,
/// up to the word for that. `name` is the word for a name.
pub(crate) fn why_unclear(text: &str, (name, called): (&str, &str), id: &str) -> String {
    if called.to_lowercase().contains(&text.to_lowercase()) {
        return format!("only a part of the {name} of");
    }
    match n_digits_of(text, id) {
        Some(_) => format!("too little of an id (it takes {ID_PART_MIN} digits) to mean"),
        // Whoever looked may find more than is known of here.
        None => format!("neither the {name} nor the id of"),
    }
}

/// Counts the digits of an id that a text is, be they its beginning or its end.
fn n_digits_of(text: &str, id: &str) -> Option<usize> {
    let (kind, bare) = id.split_once('_').map_or(("", id), |(kind, bare)| (kind, bare));
    let lower = text.to_lowercase();
    let named = lower.strip_prefix(kind).and_then(|rest| rest.strip_prefix('_'));
    let named = named.unwrap_or(&lower);
    let begins = [bare, words::short_id(id)].iter().any(|id| id.starts_with(named));
    (begins || bare.ends_with(named)).then_some(named.len())
}

fn by_title(text: &str, row: &SessionRow, verb: &str) -> Failure {
    let (short, title) = (words::short_id(&row.id), print::clean::clean_line(&row.title));
    let what = why_unclear(text, ("title", &row.title), &row.id);
    let why = format!("{text:?} is {what} {title} ({short}), and there is no terminal to ask at");
    let hint =
        format!("stead {verb} {short} names it by its id; its whole title, or -y, works as well");
    Failure::not_started("usage", why).with_hint(hint)
}

/// Asks whether all of these are to go.
async fn agrees(rows: &[SessionRow]) -> bool {
    for row in rows {
        let (id, state) = (words::short_id(&row.id), tui::list::session_state(&row.state));
        let line = format!("{id}  {} · {state} · {}", row.title, directory(row));
        print::err(&format!("{}\n", print::clean::clean_line(&line)));
    }
    ask::agrees("Delete this with all that was said, for good? [y]es or [n]o: ").await
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_fits_the_terminal_and_says_times_as_people_do() {
        let row: SessionRow = serde_json::from_value(json!({
            "id": "ses_0190aa11bb22cc33dd44ee55ff667788", "title": "fix the totals", "workspace": "w",
            "cwd": "/home/a/src/site", "mode": "auto", "model": "demo/fix", "state": "finished",
            "messages": 2, "usage": {}, "created_at": "2023-11-14T22:13:20.000Z",
            "updated_at": "2023-11-14T22:13:20.000Z",
        }))
        .unwrap();
        let now = Timestamp::from_millis(1_700_000_000_000 + 300_000);
        let text = list(&[row], now, 80, Style(false));
        assert_eq!(
            text,
            "ID        TITLE           STATE  MODEL     DIRECTORY         ACTIVE\n\
             ff667788  fix the totals  done   demo/fix  /home/a/src/site  5 min ago\n"
        );
    }

    #[test]
    fn without_a_terminal_only_an_id_names_what_is_deleted() {
        let id = "ses_0190aa11bb22cc33dd44ee55ff667788";
        for (text, named) in [
            (id, true),
            ("ses_0190aa", true),
            ("0190aa11", true),
            ("ff667788", true),
            ("ff66", true),
            ("FF66", true),
            ("ses_", false),
            ("ff6", false),
            ("788", false),
            ("22cc33", false),
            ("fix the totals", false),
            ("", false),
        ] {
            assert_eq!(names_id(text, id), named, "{text:?}");
        }
    }

    #[test]
    fn what_is_too_little_of_an_id_is_not_called_a_part_of_a_name() {
        let (id, title) = ("ses_0190aa11bb22cc33dd44ee55ff667788", "Fix the totals");
        for (text, said) in [
            ("788", "too little of an id (it takes 4 digits) to mean"),
            ("019", "too little of an id (it takes 4 digits) to mean"),
            ("fix", "only a part of the title of"),
            ("22cc33", "neither the title nor the id of"),
        ] {
            assert_eq!(why_unclear(text, ("title", title), id), said, "{text:?}");
        }
    }
}
