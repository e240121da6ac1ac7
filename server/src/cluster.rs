//! The only room that knows Kubernetes' API.
mod connect;
mod convert;
#[cfg(test)]
mod fake;
mod interner;
mod perform;
mod request;
mod status;
mod text;
mod window;
