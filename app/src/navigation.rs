//! Where the page is: the addresses of its pages, and what of a page's state is in its query string.

pub mod address;
