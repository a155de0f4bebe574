//! A workspace in memory, for tests of what stands above the seam.
