//! Sessions over real stores and real places: what is promised when the disk below fails.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod leaving;
#[cfg(test)]
mod mend;
#[cfg(test)]
mod project;
#[cfg(test)]
mod repeats;
#[cfg(test)]
mod retries;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod scratch;
