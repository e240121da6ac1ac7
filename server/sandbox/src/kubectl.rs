//! What the sandbox exchanges with kubectl.

pub mod export;
