//! The names of jobs and sessions, for shells that complete them: a hidden command tells them, and what is added to
//! the generated scripts asks it.
//!
//! It starts no daemon and says nothing of what goes wrong: whoever presses a key wants no message.

use std::{ffi::OsStr, process::ExitCode};

use api::job::{JobRow, RowKind};
use clap::{Arg, Command, CommandFactory as _};
use clap_complete::Shell;

use crate::{
    args::{Args, Ls},
    client::{self, Found},
    env, exit,
    print::{self, clean::clean_line, words},
    role::{self, jobs},
};

/// The hidden command.
pub(crate) const WORD: &str = "__names";

/// What is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    All,
    Jobs,
    Sessions,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Jobs => "jobs",
            Self::Sessions => "sessions",
        }
    }

    fn has(self, row: &JobRow) -> bool {
        match self {
            Self::All => true,
            Self::Jobs => row.kind == RowKind::Job,
            Self::Sessions => row.kind == RowKind::Session,
        }
    }
}

/// The commands whose words are names, by their own words; those of jobs alone, of sessions alone.
const NAMED: &[(&[&str], Kind)] = &[
    (&["attach"], Kind::All),
    (&["detach"], Kind::Jobs),
    (&["explain"], Kind::All),
    (&["logs"], Kind::All),
    (&["pin"], Kind::All),
    (&["rename"], Kind::All),
    (&["respawn"], Kind::Jobs),
    (&["rm"], Kind::All),
    (&["send"], Kind::All),
    (&["sessions", "rm"], Kind::Sessions),
    (&["sessions", "show"], Kind::Sessions),
    (&["stop"], Kind::All),
    (&["upgrade"], Kind::Jobs),
    (&["wait"], Kind::All),
];

/// Prints the names of a kind, one a line, each with a tab and what it is behind it.
pub(crate) fn tell(kind: &OsStr) -> ExitCode {
    let kinds = [Kind::All, Kind::Jobs, Kind::Sessions];
    let Some(kind) = kinds.into_iter().find(|known| known.as_str() == kind) else {
        return ExitCode::from(exit::USAGE);
    };
    let rows = role::block_on(async {
        // Who presses a key does not want a daemon started.
        let Found::Alive(client, _) = client::find(&env::paths()?).await? else {
            return Ok(Vec::new());
        };
        let wanted = Ls { all: false, cwd: None, json: crate::args::Json { json: false } };
        Ok(jobs::rows(&client, &wanted).await?)
    });
    let mut rows: Vec<JobRow> = rows.unwrap_or_default();
    rows.retain(|row| kind.has(row));
    tui::list::sort(&mut rows);
    print::out(&lines(&rows))
}

fn lines(rows: &[JobRow]) -> String {
    let named = rows.iter().filter(|row| !row.name.is_empty());
    let names = named.map(|row| format!("{}\t{} {}\n", clean_line(&row.name), id(row), row.state));
    let ids =
        rows.iter().map(|row| format!("{}\t{} {}\n", id(row), clean_line(&row.name), row.state));
    names.chain(ids).collect()
}

fn id(row: &JobRow) -> &str {
    match row.kind {
        RowKind::Job => &row.id,
        RowKind::Session => words::short_id(&row.id),
    }
}

/// Returns a generated script with what completes names.
pub(super) fn joined(shell: Shell, script: &str) -> String {
    if shell == Shell::Bash {
        return format!("{script}\n{}", bash());
    }
    if shell == Shell::Zsh {
        return zsh(script);
    }
    if shell == Shell::Fish {
        return format!("{script}{}", fish());
    }
    // The others complete commands and flags.
    script.to_owned()
}

fn command(words: &[&str]) -> Command {
    let mut found = Args::command();
    for word in words {
        found = found.find_subcommand(word).cloned().unwrap_or_default();
    }
    found
}

/// Returns the flags of a command behind which a value stands.
fn with_values(command: &Command) -> Vec<String> {
    let takes = command
        .get_opts()
        .filter(|arg| arg.get_action().takes_values() && !arg.is_require_equals_set());
    let names = |arg: &Arg| {
        let long = arg.get_long().map(|long| format!("--{long}"));
        let short = arg.get_short().map(|short| format!("-{short}"));
        [long, short].into_iter().flatten()
    };
    takes.flat_map(names).collect()
}

/// Tells whether all words of a command are names.
fn takes_many(command: &Command) -> bool {
    let mut words = command.get_positionals();
    words.next().is_some_and(|arg| arg.get_num_args().is_some_and(|n| 1 < n.max_values()))
}

fn bash() -> String {
    let cases: String = NAMED
        .iter()
        .map(|(words, kind)| {
            let command = command(words);
            let pattern = match words {
                [one] => format!("\"{one} \"*"),
                words => format!("\"{}\"", words.join(" ")),
            };
            let many = if takes_many(&command) { " many=1" } else { "" };
            let values = with_values(&command).join(" ");
            format!(
                "        {pattern}) kind={} first={}{many} values=\" {values} \" ;;\n",
                kind.as_str(),
                words.len() + 1
            )
        })
        .collect();
    BASH.replace("@CASES@", &cases).replace("@WORD@", WORD)
}

/// Completes names where one may stand, and leaves all else to the generated function.
const BASH: &str = r#"_stead_names() {
    local kind="" first=0 many="" values="" idx n=0 name about
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
    case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
@CASES@        "run "*)
            if [[ $before == -s || $before == --session ]]; then kind=sessions first=$COMP_CWORD; fi ;;
    esac
    for ((idx = first; idx < COMP_CWORD; idx++)); do
        if [[ ${COMP_WORDS[idx]} != -* && $values != *" ${COMP_WORDS[idx-1]} "* ]]; then n=$((n + 1)); fi
    done
    if [[ -z $kind || $COMP_CWORD -lt $first || $word == -* || $values == *" $before "* ]] ||
        [[ -z $many && $n -gt 0 ]]; then
        _stead "$@"
        return
    fi
    compopt +o default +o bashdefault 2>/dev/null
    local typed="${word//\\/}"
    typed="${typed#[\"\']}"
    COMPREPLY=()
    while IFS=$'\t' read -r name about; do
        if [[ $name == "$typed"* ]]; then
            if [[ $word != [\"\']* ]]; then printf -v name %q "$name"; fi
            COMPREPLY+=("$name")
        fi
    done < <("${COMP_WORDS[0]/#\~/$HOME}" @WORD@ "$kind" 2>/dev/null)
}
if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _stead_names -o nosort -o bashdefault -o default stead
else
    complete -F _stead_names -o bashdefault -o default stead
fi
"#;

/// Gives the words that are names their action: in the generated script they have none.
fn zsh(script: &str) -> String {
    let mut out = String::new();
    let mut within: Vec<&str> = Vec::new();
    for line in script.lines() {
        if let Some(word) = line.strip_prefix('(').and_then(|line| line.strip_suffix(')')) {
            // A command below `sessions` is told apart from one of the same word by what stands before it.
            within = match within.first() {
                Some(&"sessions") if matches!(word, "list" | "show" | "rm") => {
                    vec!["sessions", word]
                }
                _ => vec![word],
            };
        }
        let kind = NAMED.iter().find(|(words, _)| *words == within.as_slice());
        let is_name = ["':job -- ", "'*::jobs -- ", "':session -- ", "'*::sessions -- "]
            .iter()
            .any(|begin| line.starts_with(begin));
        match kind.filter(|_| is_name).zip(line.strip_suffix(":' \\")) {
            Some(((_, kind), line)) => {
                out.push_str(&format!("{line}:_stead_names {}' \\\n", kind.as_str()));
            }
            None => out.push_str(&format!("{line}\n")),
        }
    }
    let end = out.find("\nif [ \"$funcstack[1]\"").unwrap_or(out.len());
    out.insert_str(end, &ZSH.replace("@WORD@", WORD));
    out
}

const ZSH: &str = r#"
(( $+functions[_stead_names] )) ||
_stead_names() {
    local line
    local -a names
    for line in ${(f)"$(_call_program names ${(q)words[1]:-stead} @WORD@ $1 2>/dev/null)"}; do
        names+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    _describe -t names 'name' names
}
"#;

fn fish() -> String {
    let line = |(words, kind): &(&[&str], Kind)| {
        let seen = match words {
            [one] => format!("__fish_stead_using_subcommand {one}"),
            [first, second, ..] => format!(
                "__fish_stead_using_subcommand {first}; and __fish_seen_subcommand_from {second}"
            ),
            [] => String::new(),
        };
        format!(
            "complete -c stead -n \"{seen}\" -k -f -a \"(stead {WORD} {} 2>/dev/null)\"\n",
            kind.as_str()
        )
    };
    NAMED.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_takes_a_name_completes_it() {
        let mut left = vec![(Vec::new(), Args::command())];
        let mut found = Vec::new();
        while let Some((words, command)) = left.pop() {
            for inner in command.get_subcommands() {
                let mut words: Vec<String> = words.clone();
                words.push(inner.get_name().to_owned());
                let mut ids = inner.get_positionals().map(|arg| arg.get_id().as_str());
                if ids.any(|id| matches!(id, "job" | "jobs" | "session" | "sessions")) {
                    found.push(words.join(" "));
                }
                left.push((words, inner.clone()));
            }
        }
        found.sort();
        let named: Vec<String> = NAMED.iter().map(|(words, _)| words.join(" ")).collect();
        assert_eq!(found, named);
    }

    #[test]
    fn the_scripts_ask_where_a_name_stands() {
        let script = |shell: Shell| {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "stead", &mut text);
            joined(shell, &String::from_utf8(text).unwrap())
        };
        let zsh = script(Shell::Zsh);
        assert_eq!(zsh.matches(":_stead_names all' \\\n").count(), 9, "{zsh}");
        assert_eq!(zsh.matches(":_stead_names jobs' \\\n").count(), 3);
        assert_eq!(zsh.matches(":_stead_names sessions' \\\n").count(), 2);
        let fish = script(Shell::Fish);
        assert_eq!(fish.matches(&format!("(stead {WORD} ")).count(), NAMED.len());
        let bash = script(Shell::Bash);
        assert!(
            bash.contains("\"wait \"*) kind=all first=2 values=\" --until --timeout \" ;;\n"),
            "{bash}"
        );
        assert!(bash.contains("\"sessions rm\") kind=sessions first=3 many=1"));
    }
}
