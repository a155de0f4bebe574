//! The words everybody speaks: ids, tools, outcomes, messages, facts, the live message, limits.
//!
//! Pure data with parse, display and compare. These are the only domain types that serialise; the
//! shapes of requests and responses are not here, they belong to `api` and to the protocols.

pub mod call;
pub mod fact;
pub mod ids;
pub mod job;
pub mod limits;
pub mod live;
pub mod message;
pub mod outcome;
pub mod path;
pub mod place;
pub mod schema;
pub mod tool;
pub mod tree;
