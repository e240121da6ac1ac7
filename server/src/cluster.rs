//! The only room that knows Kubernetes' API.
mod convert;
mod interner;
mod request;
mod status;
mod text;
