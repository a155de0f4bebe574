//! The whole program where it is most likely to break: many starts at once, kills, failing disks,
//! strangers in its place.
//!
//! Nothing here waits for time to pass; every wait is for an event and is bounded. A test that this
//! machine cannot run says so, and fails instead when `STEAD_TEST_REQUIRE` is set.

#[cfg(test)]
mod full;
#[cfg(test)]
mod injected;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod played;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod sealed;
#[cfg(test)]
mod strangers;
