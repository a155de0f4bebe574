//! Language servers as a source of tools, at the boundary: scripted servers, real files, real processes.

#![expect(clippy::disallowed_methods, reason = "tests arrange and look at real files")]

#[cfg(test)]
mod broken;
#[cfg(test)]
mod diagnostics;
#[cfg(test)]
mod grants;
#[cfg(test)]
mod lives;
#[cfg(test)]
mod places;
#[cfg(test)]
mod renames;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod scripted;
#[cfg(test)]
mod strangers;
#[cfg(test)]
mod together;
