//! Time as a value that is handed in. Tests hold a manual clock; the program holds the system's.

#![expect(clippy::disallowed_methods, reason = "the one room that may ask what time it is")]

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// A moment in milliseconds since the Unix epoch, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Wraps a count of milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the count of milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns how long ago `earlier` was; zero when it lies in the future.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Parses RFC 3339, as [`fmt::Display`] prints it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|at| Self(at.as_millisecond()))
    }

    /// Says it to a person, to the second, in the time of this machine and with that zone's name; in UTC
    /// where the machine has none.
    #[must_use]
    pub fn local(self) -> String {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => {
                let zone = jiff::tz::TimeZone::try_system().unwrap_or(jiff::tz::TimeZone::UTC);
                jiff::ZonedDateTime::new(at, zone).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
            }
            Err(_) => self.to_string(),
        }
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with exactly three decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

/// Tells the time: the system's, or one that a test moves by hand.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    System {
        started: Instant,
    },
    /// The system's, whose wall clock somebody has set by so many milliseconds.
    Set {
        started: Instant,
        by: Arc<AtomicI64>,
    },
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// Returns the machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System { started: Instant::now() })
    }

    /// Returns the machine's clock with a wall clock that [`Clock::set`] sets, as a person does, the network's
    /// time, or a machine that slept: what counts from a start knows nothing of it. Clones share it.
    #[must_use]
    pub fn settable() -> Self {
        Self(Source::Set { started: Instant::now(), by: Arc::default() })
    }

    /// Returns a clock that stands still at `at` until [`Clock::advance`] moves it. Clones share it.
    #[must_use]
    pub fn manual(at: Timestamp) -> Self {
        Self(Source::Manual(Arc::new(AtomicI64::new(at.0))))
    }

    /// Returns the wall-clock time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System { .. } => wall(),
            Source::Set { by, .. } => {
                Timestamp(wall().0.saturating_add(by.load(Ordering::Relaxed)))
            }
            Source::Manual(millis) => Timestamp(millis.load(Ordering::Relaxed)),
        }
    }

    /// Returns the time that never goes backwards, counted from an arbitrary start.
    #[must_use]
    pub fn monotonic(&self) -> Duration {
        match &self.0 {
            Source::System { started } | Source::Set { started, .. } => started.elapsed(),
            Source::Manual(_) => Duration::from_millis(self.now().0.unsigned_abs()),
        }
    }

    /// Moves a manual clock forward; the system's clock is left alone.
    pub fn advance(&self, by: Duration) {
        if let Source::Manual(millis) = &self.0 {
            millis.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::Relaxed);
        }
    }

    /// Sets the wall clock of a settable clock forward, or back; any other one is left alone.
    pub fn set(&self, by_ms: i64) {
        if let Source::Set { by, .. } = &self.0 {
            by.fetch_add(by_ms, Ordering::Relaxed);
        }
    }
}

fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_goes_on_counting() {
        let clock = Clock::settable();
        let (wall, counted) = (clock.now(), clock.monotonic());
        clock.set(-3_600_000);
        assert!(clock.clone().now() < wall && counted <= clock.monotonic());
        assert_eq!(clock.now().since(wall), Duration::ZERO);
    }

    #[test]
    fn times_print_with_three_decimals_and_parse_back() {
        let at = Timestamp::from_millis(1_700_000_000_040);
        assert_eq!(at.to_string(), "2023-11-14T22:13:20.040Z");
        assert_eq!(Timestamp::parse(&at.to_string()), Some(at));
    }

    #[test]
    fn a_person_reads_a_time_with_its_zone_and_without_its_milliseconds() {
        let text = Timestamp::from_millis(1_700_000_000_040).local();
        let (time, zone) = text.rsplit_once(' ').unwrap();
        assert!(time.ends_with(":20") && time.starts_with("2023-11-1"), "{text}");
        assert!(!zone.is_empty() && !text.contains('.'), "{text}");
    }

    #[test]
    fn a_manual_clock_moves_only_by_hand() {
        let clock = Clock::manual(Timestamp::from_millis(5));
        assert_eq!(clock.now(), clock.clone().now());
        clock.advance(Duration::from_millis(10));
        assert_eq!(clock.now(), Timestamp::from_millis(15));
    }
}
