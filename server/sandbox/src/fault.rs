//! What goes wrong on purpose.

/// The faults that are waiting to strike.
#[derive(Debug, Default)]
pub struct Faults {}
