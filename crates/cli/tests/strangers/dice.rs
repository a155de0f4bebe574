//! Random choices that can be made again: the seed is printed, and taken from `STEAD_TEST_SEED`.

#![expect(clippy::disallowed_methods, reason = "a test reads its environment and the time")]

/// A small generator (xorshift).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new() -> Self {
        let given = std::env::var("STEAD_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.map_or(1, |since| u64::from(since.subsec_nanos()) << 20 | since.as_secs())
        });
        println!("STEAD_TEST_SEED={seed}");
        Self(seed.max(1))
    }

    /// Returns dice that depend on these.
    pub(crate) fn fork(&mut self) -> Self {
        Self(u64::try_from(self.below(usize::MAX)).unwrap().max(1))
    }

    /// Returns a number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % end
    }
}
