//! The rules of weight: which evidence decides, which waits, which is overruled.
//!
//! In this order: the program's end; what it or somebody inside the job said outright; what it signals in
//! band; its screen; its silence. A weaker kind may take back a stronger one, at once where a dialog waits
//! for a person and else only after it has lasted. Nothing here keeps state.

use vocab::limits::{ARBITER_HOLD_MS, ARBITER_QUIET_MS, ARBITER_REPORT_QUIET_MS};

use crate::{
    court::QUIET,
    evidence::{Evidence, Said},
    explain::{Outcome, Weighed},
    fact::{Claim, Ending, Moment},
    verdict::{Confidence, Source, State},
};

/// What is judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) evidence: &'a Evidence,
    /// The program works in turns, so that the end of something may be the end of a turn.
    pub(crate) has_turns: bool,
    /// How it stood before.
    pub(crate) before: Option<State>,
    pub(crate) now: Moment,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub(crate) state: State,
    pub(crate) status: Option<String>,
    pub(crate) waiting_for: Option<String>,
    pub(crate) source: Source,
    pub(crate) confidence: Confidence,
    pub(crate) detail: String,
    pub(crate) weighed: Vec<Weighed>,
    /// When it has to be judged again although nothing happens.
    pub(crate) due: Option<Moment>,
}

/// A kind of evidence, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Announcement,
    Report,
    Progress,
    Mark,
    Notification,
    Title,
    Screen,
}

impl Kind {
    fn source(self) -> Source {
        match self {
            Self::Report => Source::Report,
            Self::Announcement | Self::Progress | Self::Mark | Self::Notification | Self::Title => {
                Source::Signal
            }
            Self::Screen => Source::Screen,
        }
    }

    fn words(self, by: &str) -> String {
        match self {
            Self::Announcement => format!("the program says that it is {by}"),
            Self::Report => format!("{by} reported it"),
            Self::Progress => format!("its progress is {by}"),
            Self::Mark => format!("the shell marked its {by}"),
            Self::Notification => format!("its notification is of the kind {by}"),
            Self::Title => format!("its title is of the kind {by}"),
            Self::Screen => format!("its screen is of the kind {by}"),
        }
    }

    /// Tells whether it says outright that a turn has ended.
    fn is_outright(self) -> bool {
        !matches!(self, Self::Title | Self::Screen)
    }

    fn confidence(self) -> Confidence {
        if self.is_outright() { Confidence::High } else { Confidence::Medium }
    }
}

/// What one piece of evidence says.
#[derive(Debug, Clone, Copy)]
struct Opinion<'a> {
    kind: Kind,
    said: &'a Said,
}

/// How a weaker opinion fares against a stronger one.
enum Challenge {
    Agrees,
    Wins(&'static str),
    Waits(Moment),
    Loses(&'static str),
}

/// Judges a case.
pub(crate) fn judge(case: Case<'_>) -> Judgement {
    if let Some((_, ending)) = case.evidence.ended {
        return ended(ending);
    }
    let mut weighed = Vec::new();
    let opinions = opinions(case, &mut weighed);
    let Some((base, weaker)) = opinions.split_first() else {
        let mut judgement = running();
        judgement.weighed = weighed;
        return fall_silent(case, judgement, None);
    };
    let mut judgement = running();
    let mut decided = None;
    let is_settled = match settles(case, *base, weaker) {
        None => true,
        Some(at) => {
            judgement.due = Some(at);
            weighed.push(base.weighed(Outcome::Waits, "it must last a little, or be seen twice"));
            false
        }
    };
    for opinion in weaker {
        let (outcome, why) = match challenge(case, *base, *opinion, weaker) {
            _ if decided.is_some() => (Outcome::Overruled, "a stronger kind decided"),
            Challenge::Agrees => (Outcome::Agrees, ""),
            Challenge::Wins(why) => {
                decided = Some(*opinion);
                (Outcome::Decides, why)
            }
            Challenge::Waits(at) => {
                judgement.due = Some(judgement.due.map_or(at, |due| due.min(at)));
                (Outcome::Waits, "it must last before it takes back a stronger kind")
            }
            Challenge::Loses(why) => (Outcome::Overruled, why),
        };
        weighed.push(opinion.weighed(outcome, why));
    }
    if decided.is_some() {
        judgement.due = None;
    }
    match decided {
        Some(_) if is_settled => {
            weighed.insert(0, base.weighed(Outcome::Overruled, "it is out of date"))
        }
        None if is_settled => {
            weighed.insert(0, base.weighed(Outcome::Decides, ""));
            decided = Some(*base);
        }
        Some(_) | None => {}
    }
    judgement.weighed = weighed;
    if let Some(opinion) = decided {
        decide(&mut judgement, opinion, &opinions);
    }
    fall_silent(case, judgement, decided)
}

fn decide(judgement: &mut Judgement, opinion: Opinion<'_>, all: &[Opinion<'_>]) {
    let Opinion { kind, said } = opinion;
    judgement.source = kind.source();
    judgement.confidence = kind.confidence();
    judgement.detail = kind.words(&said.by);
    match said.claim {
        Claim::Working => judgement.status.clone_from(&said.message),
        Claim::Blocked => {
            judgement.state = State::Blocked;
            let mut same = all.iter().filter(|other| other.said.claim == Claim::Blocked);
            let message =
                said.message.clone().or_else(|| same.find_map(|other| other.said.message.clone()));
            judgement.waiting_for = Some(message.unwrap_or_else(|| "an answer".to_owned()));
        }
        Claim::Idle => {
            judgement.state = State::Done;
            judgement.status = Some("idle".to_owned());
        }
    }
}

fn running() -> Judgement {
    Judgement {
        state: State::Working,
        status: None,
        waiting_for: None,
        source: Source::Process,
        confidence: Confidence::Low,
        detail: "the program runs".to_owned(),
        weighed: Vec::new(),
        due: None,
    }
}

fn ended(ending: Ending) -> Judgement {
    let (state, detail) = match ending {
        Ending::Done => (State::Done, "the program has ended with code 0"),
        Ending::Failed => (State::Failed, "the program has ended, and not with code 0"),
        Ending::Stopped => (State::Stopped, "the program was asked to end, and did"),
    };
    Judgement { state, confidence: Confidence::Certain, detail: detail.to_owned(), ..running() }
}

/// Returns what is said, the strongest first, and notes what is not heard at all.
fn opinions<'a>(case: Case<'a>, weighed: &mut Vec<Weighed>) -> Vec<Opinion<'a>> {
    let Evidence { announced, reports, signals, screen, .. } = case.evidence;
    let opinion =
        |kind: Kind, said: &'a Option<Said>| said.as_ref().map(|said| Opinion { kind, said });
    let announced = opinion(Kind::Announcement, announced);
    let report = reports.last().map(|report| Opinion { kind: Kind::Report, said: &report.said });
    let mut all: Vec<Opinion<'a>> = Vec::new();
    match (announced, report) {
        (Some(announced), Some(report)) => {
            // A hook may tell the end of something else: the program itself says that it goes on.
            let goes_on = announced.said.claim != Claim::Idle && report.said.claim == Claim::Idle;
            let is_later = announced.said.seen >= report.said.seen;
            let (first, second) =
                if goes_on || is_later { (announced, report) } else { (report, announced) };
            all.push(first);
            weighed.push(second.weighed(
                Outcome::Overruled,
                "what the program says, or what was said later, counts",
            ));
        }
        (one, other) => all.extend(one.or(other)),
    }
    let progress = opinion(Kind::Progress, &signals.progress).filter(|progress| {
        // Only what was busy can come to an end, and only who works in turns ends a turn by it.
        progress.said.claim != Claim::Idle || (signals.was_busy && case.has_turns)
    });
    let title = opinion(Kind::Title, &signals.title);
    let level = match (progress, title) {
        (Some(progress), Some(title)) if signals.was_busy => {
            weighed.push(title.weighed(Outcome::Overruled, "the progress is told exactly"));
            Some(progress)
        }
        (progress, title) => progress.or(title),
    };
    let mark = opinion(Kind::Mark, &signals.marked).filter(|_| !case.has_turns);
    let told = opinion(Kind::Notification, &signals.notified)
        .filter(|told| level.is_none_or(|level| level.said.began <= told.said.seen));
    let mut signals: Vec<Opinion<'a>> = told.into_iter().chain(mark).chain(level).collect();
    signals.sort_by_key(|signal| std::cmp::Reverse(signal.kind == Kind::Notification));
    all.extend(signals);
    all.extend(opinion(Kind::Screen, screen));
    all
}

/// Tells when an opinion holds that nothing stronger speaks against; none if it does already.
fn settles(case: Case<'_>, base: Opinion<'_>, weaker: &[Opinion<'_>]) -> Option<Moment> {
    if base.said.claim != Claim::Idle || base.kind.is_outright() || case.before == Some(State::Done)
    {
        return None;
    }
    let agrees =
        |other: &Opinion<'_>| other.said.claim == Claim::Idle && base.said.began <= other.said.seen;
    let due = base.said.began.plus(ARBITER_HOLD_MS);
    (!weaker.iter().any(agrees) && case.now < due).then_some(due)
}

fn challenge(
    case: Case<'_>,
    base: Opinion<'_>,
    weak: Opinion<'_>,
    weaker: &[Opinion<'_>],
) -> Challenge {
    let (strong, said) = (base.said, weak.said);
    if strong.claim == said.claim {
        return Challenge::Agrees;
    }
    let is_dialog = weak.kind == Kind::Screen && said.claim == Claim::Blocked;
    let is_newer = strong.seen < said.began;
    let counts = match strong.claim {
        // One that was on the screen before is perhaps answered, and the screen not looked at yet.
        Claim::Working => strong.began <= said.seen,
        Claim::Idle => is_newer || !base.kind.is_outright(),
        Claim::Blocked => false,
    };
    if is_dialog && counts {
        return Challenge::Wins("a dialog waits on the screen");
    }
    if base.kind == Kind::Announcement {
        return Challenge::Loses("the program itself says otherwise");
    }
    if said.seen <= strong.seen {
        return Challenge::Loses("it is older");
    }
    let life = &case.evidence.life;
    let is_acted_on =
        |acted: Option<Moment>| acted.is_some_and(|at| strong.seen < at && at <= said.seen);
    let acted = match (strong.claim, said.claim) {
        (Claim::Idle, Claim::Working) => life.entered,
        (Claim::Blocked, Claim::Working) => life.typed,
        _ => None,
    };
    if is_acted_on(acted) {
        return Challenge::Wins("somebody typed, and it is seen since");
    }
    if said.claim == Claim::Idle
        && is_newer
        && (weak.kind.is_outright() || is_seen_twice(strong, weaker))
    {
        return Challenge::Wins("its end is told, or seen twice");
    }
    let since = said.began.max(strong.seen);
    let due = since.plus(ARBITER_HOLD_MS);
    if case.now < due { Challenge::Waits(due) } else { Challenge::Wins("it has lasted") }
}

/// Tells whether title and screen both show a prompt, since after what they take back.
fn is_seen_twice(strong: &Said, weaker: &[Opinion<'_>]) -> bool {
    let shows = |kind: Kind| {
        let is_idle =
            |it: &Opinion<'_>| it.said.claim == Claim::Idle && strong.seen < it.said.began;
        weaker.iter().any(|it| it.kind == kind && is_idle(it))
    };
    shows(Kind::Title) && shows(Kind::Screen)
}

/// Says of a program that works, and of which nothing is heard, that it is quiet.
fn fall_silent(
    case: Case<'_>,
    mut judgement: Judgement,
    decided: Option<Opinion<'_>>,
) -> Judgement {
    let life = &case.evidence.life;
    let is_outright =
        decided.is_some_and(|by| matches!(by.kind, Kind::Report | Kind::Announcement));
    if judgement.state != State::Working || life.is_in_front == Some(false) {
        return judgement;
    }
    let said = decided.map(|by| by.said.seen);
    let last = [said, life.wrote].into_iter().flatten().fold(case.evidence.started, Moment::max);
    let wait = if is_outright { ARBITER_REPORT_QUIET_MS } else { ARBITER_QUIET_MS };
    let at = last.plus(wait);
    if case.now < at {
        judgement.due = Some(judgement.due.map_or(at, |due| due.min(at)));
        return judgement;
    }
    let why = format!("it has written nothing for {} s", case.now.since(last) / 1_000);
    judgement.weighed.push(Weighed {
        rule: "quiet".to_owned(),
        source: Source::Quiet,
        claims: None,
        outcome: Outcome::Decides,
        why: why.clone(),
    });
    judgement.status.get_or_insert_with(|| QUIET.to_owned());
    judgement.confidence = Confidence::Low;
    if !is_outright {
        judgement.source = Source::Quiet;
        judgement.detail = why;
    }
    judgement
}

impl Opinion<'_> {
    fn weighed(self, outcome: Outcome, why: &str) -> Weighed {
        Weighed {
            rule: self.kind.words(&self.said.by),
            source: self.kind.source(),
            claims: Some(self.said.claim),
            outcome,
            why: why.to_owned(),
        }
    }
}
