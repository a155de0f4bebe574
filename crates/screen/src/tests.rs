//! A mirror is tested from outside: bytes in, and two terminals that must be the same.

mod answers;
mod floods;
mod limits;
mod random;
mod referee;
mod same;
mod scenarios;
mod screens;
mod sizes;
mod strangers;
mod windows;
