//! The sole owner of what is known and of the open runs. Everybody else sends it a message and reads what it publishes.
//! It names neither kube nor axum: one mailbox in, one sender of actions out.

mod handle;

pub use handle::{Frame, FrameKind, Hub, HubClosed, Incoming, Order, Refusal, Start, Steer, Subscription};
