//! Faults of the servers behind APIServices.

/// The fault of the server behind an APIService.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerFault {
    /// It answers nothing, although the Pods of its Service are ready.
    Dead,
    /// It does what a request with `dryRun` asks for.
    IgnoresDryRun,
}
