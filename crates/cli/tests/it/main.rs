//! The program from outside: what a person and a script see of it, with a daemon of each test's own.

#[cfg(test)]
mod agents;
#[cfg(test)]
mod attach;
#[cfg(test)]
mod attached;
#[cfg(test)]
mod completions;
#[cfg(test)]
mod daemon;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod home;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod host;
#[cfg(test)]
mod jobs;
#[cfg(test)]
mod others;
#[cfg(test)]
mod pty;
#[cfg(test)]
mod run;
#[cfg(test)]
mod screens;
#[cfg(test)]
mod served;
#[cfg(test)]
mod servers;
#[cfg(test)]
mod sizes;
#[cfg(test)]
mod survives;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod tmux;
#[cfg(test)]
mod view;
