//! The operating modes of controllers.

use jiff::SignedDuration;

/// The operating mode of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OperatingMode {
    #[default]
    Running,
    /// The controller is not installed, or its process has ended. When it is switched on again it lists everything, so
    /// it catches up with what it missed.
    Off,
    /// The controller observes and does everything this much later.
    Slow(SignedDuration),
    /// Every request of the controller is refused with 500.
    Failing,
}
