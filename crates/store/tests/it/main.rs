//! The store from outside: what is promised to those who append, read, crash and come back.

#[cfg(test)]
mod append;
#[cfg(test)]
mod crash;
#[cfg(test)]
#[cfg(test)]
mod house;
#[cfg(test)]
mod opening;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod reads;
#[cfg(test)]
mod rig;
