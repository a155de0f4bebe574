//! The rules of `tidy`, by what they look at. A rule sees the tree and adds findings; it reads nothing
//! itself, so that tests can show it any tree.

pub(crate) mod budgets;
pub(crate) mod contracts;
pub(crate) mod dependencies;
pub(crate) mod documents;
pub(crate) mod doors;
pub(crate) mod layers;
pub(crate) mod limits;
pub(crate) mod sources;
pub(crate) mod statuses;
