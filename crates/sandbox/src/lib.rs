//! Where children are born: a policy is proven realisable on this host, becomes a [`Plan`], and only a
//! plan becomes a process. Every process belongs to a [`Scope`] that can end it and all it has started.
//!
//! The order of a child's life: [`Environment`] is built from nothing and filtered; [`Policy`] says what
//! the child may see and do; [`Plan::realize`] checks it against the [`Host`]; [`Scope::run`] starts it,
//! reads its output, and tells how it ended and what it left behind; [`Scope::end`] kills the rest. A process
//! that becomes another program ([`replace`]) takes its children along.
//!
//! Not here: terminals (`pty` opens them, a child is only born on one), the meaning of a command, decoding of output, any
//! asynchronous runtime. Confined backends have their place in [`plan::Backend`] and are not built yet.

mod cancel;
mod cgroup;
mod drain;
pub mod environ;
mod output;
pub mod plan;
pub mod policy;
pub mod probe;
mod proc_fs;
mod registry;
pub mod replace;
pub mod report;
pub mod scope;
pub mod signals;
mod spawn;
mod tree;

pub use cancel::Cancel;
pub use environ::Environment;
pub use plan::{Plan, PlanError, find_shell};
pub use policy::{Lifetime, Policy};
pub use probe::{Host, become_subreaper};
pub use scope::{RunError, Scope, capture};
