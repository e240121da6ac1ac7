//! Rights, links that sign a browser in, and the sessions that they sign in.

use teardown::right::Right;

pub const SHARE: &str = "Invite another browser";
pub const SHARE_HINT: &str = "Make a one-time sign-in link, or take one back";
pub const SIGN_OUT: &str = "Sign out";
/// Says that the page is for looking alone.
pub const READ_ONLY: &str = "Read only";
pub const NOT_SIGNED_IN: &str =
    "To make changes, sign in with the link that the server printed when it started.";

/// The reason why a session that may only look cannot use a button.
pub const NOT_ALLOWED: &str = "You can look, but not change anything. Ask for a link that may act.";
/// The reason why a session cannot have a remedy done.
pub const NO_FORCE: &str = "Your link does not allow remedies. Ask for one that may force.";

pub const INVITE_LEAD: &str = "A link signs in one browser, once, within an hour.";
pub const INVITE_RIGHT: &str = "The other browser may";
pub const INVITE_NAME: &str = "Name for the record (optional)";
pub const INVITE_COPY: &str = "Copy a link";

/// A right, as it is chosen and listed.
pub fn right(right: Right) -> &'static str {
    match right {
        Right::Look => "Look only",
        Right::Act => "Look and act",
        Right::Force => "Look, act and force",
    }
}

/// The meaning of a right.
pub fn right_means(right: Right) -> &'static str {
    match right {
        Right::Look => "See everything, and change nothing",
        Right::Act => "Also plan, start, pause, stop and skip",
        Right::Force => "Also have Unwind carry out remedies",
    }
}

pub const LINKS_TITLE: &str = "Links and sessions";
pub const LINKS_LEAD: &str = "A link that is taken back ends at once, with its session and every link that was made with it.";
pub const NO_LINKS: &str = "You have none to take back.";
pub const TAKE_BACK: &str = "Take back";

/// The label of the button, for a screen reader.
pub fn take_back(name: &str, of: Right) -> String {
    format!("{TAKE_BACK}: {name}, {}", right(of))
}

/// The right and the inviter of a link.
pub fn link(of: Right, invited_by: Option<&str>) -> String {
    match invited_by {
        Some(inviter) => format!("{}, invited by {inviter}", right(of)),
        None => right(of).to_owned(),
    }
}

pub const LINK_UNUSED: &str = "not used yet";
/// In front of a time.
pub const LINK_USED: &str = "last used";
