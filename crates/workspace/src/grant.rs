//! What a workspace may do. A grant is a value; what was not granted cannot be reached.

/// Permission to run programs. Only the composer of a workspace can make one.
#[derive(Debug, Clone)]
pub struct ExecGrant {
    _private: (),
}

impl ExecGrant {
    /// Grants execution, because the owner of the machine said so.
    #[must_use]
    pub fn by_owner() -> Self {
        Self { _private: () }
    }
}

/// All grants of a workspace.
#[derive(Debug, Clone, Default)]
pub struct Grants {
    /// Programs may be run.
    pub exec: Option<ExecGrant>,
    /// Mounts below the root may be entered.
    pub mounts: bool,
}
