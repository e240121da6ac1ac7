//! The state behind what is seen: the records of a topic as signals, the connection that keeps them current, the clock,
//! and the requests that a person sets off.

pub mod advice;
pub mod clipboard;
pub mod clock;
pub mod command;
pub mod connection;
pub mod drawing;
pub mod filter;
pub mod keyboard;
pub mod live;
mod local_time;
pub mod mark;
pub mod production;
pub mod progress;
pub mod scene;
pub mod seed;
pub mod subscription;
