//! Files and directories that come and go in pieces, with their length and hash.
//!
//! No thread waits for the other side: between pieces only the file's lane and an open file are held.

mod arriving;
pub(crate) mod held;
mod leaving;
mod tree_in;
mod tree_out;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use vocab::{limits::UPLOAD_BYTES_MAX, outcome::Failure};
use workspace::{
    primitive::{Shape, Upload},
    tree,
};

pub(crate) use self::{arriving::upload, leaving::download};
use crate::{site::Site, stop::Stop, truncate};

fn check_promise(promise: &Upload) -> Result<(), Failure> {
    if !tree::is_hash(&promise.sha256) {
        let message = "sha256 must be 64 lower-case hexadecimal digits";
        return Err(Failure::not_started("invalid_arguments", message));
    }
    if promise.size > UPLOAD_BYTES_MAX {
        let size = truncate::size(promise.size);
        return Err(Failure::not_started("too_large", format!("an upload of {size} is too large")));
    }
    if promise.size < promise.from {
        let message = "an upload cannot go on behind its end";
        return Err(Failure::not_started("invalid_arguments", message));
    }
    if promise.shape == Shape::Tree && promise.overwrite {
        let message = "a directory is never replaced by an upload";
        return Err(Failure::not_started("invalid_arguments", message));
    }
    Ok(())
}

fn mismatch(message: String) -> Failure {
    Failure::not_started("transfer_mismatch", message).with_hint("send it again")
}

/// One step of a transfer on the pool. A step is short, so that it is always waited for.
struct Step {
    site: Arc<Site>,
    stop: Stop,
}

impl Step {
    fn new(site: &Arc<Site>, stop: &Stop) -> Self {
        Self { site: Arc::clone(site), stop: stop.clone() }
    }

    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, Failure>> {
        Site::on(&self.site.files, self.stop.clone(), work)
    }
}
