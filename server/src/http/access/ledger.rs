//! The open links, the sessions, and the rules of who may invite and who may take back. The methods take the time as an
//! argument, so that tests need no clock.
//!
//! A session belongs to the link that signed it in, and both have one id. Each link knows the link of the session that made
//! it, so the links form trees. A name decides nothing, because an inviter can choose any name for a guest.

use std::{collections::BTreeMap, iter::successors, sync::Arc, time::Duration};

use data_encoding::HEXLOWER;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use teardown::right::Right;
use tokio_util::sync::CancellationToken;

use crate::http::{error::Failure, random::random_hex};

/// The time after which an unused session expires. An open page uses its session.
const IDLE: SignedDuration = SignedDuration::from_hours(12);

/// The most unused links. A new link replaces the oldest of those with the least right.
const LINKS: usize = 16;

/// The most sessions. A new session replaces, of those with the least right, the one that was used longest ago. So a guest
/// who may only look cannot push out somebody who may act.
const SESSIONS: usize = 64;

/// The wrong tokens per [`STRIKE_WINDOW`] after which further wrong tokens get 429. The right token is always accepted:
/// 256 bits cannot be guessed, so wrong tries must not lock out the person who holds the link.
const STRIKES: usize = 10;

/// The period in which wrong tokens are counted.
const STRIKE_WINDOW: SignedDuration = SignedDuration::from_mins(1);

/// The longest delay before a session's last use is saved. After a restart, a session may expire earlier by this time.
const SAVE_EVERY: SignedDuration = SignedDuration::from_mins(5);

/// The SHA-256 of a secret in hexadecimal, which is stored instead of the secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::http) struct Mark(Arc<str>);

impl Mark {
    pub(super) fn of(secret: &str) -> Self {
        Self(HEXLOWER.encode(&Sha256::digest(secret)).into())
    }
}

/// The id of a link and of the session that it signs in. It is random and no secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::http) struct LinkId(Arc<str>);

impl LinkId {
    pub(super) fn mint() -> Self {
        Self(random_hex::<8>().into())
    }
}

/// The person whom a link signs in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::http) struct Guest {
    pub(in crate::http) name: String,
    /// The person who made the link for another name; `None` for the person who started the server.
    pub(in crate::http) invited_by: Option<String>,
    /// The greatest right of the session.
    pub(in crate::http) right: Right,
}

impl Guest {
    /// The name for the record of a run. It includes the inviter, because an inviter can choose any name for a guest.
    pub(in crate::http) fn recorded(&self) -> String {
        match &self.invited_by {
            Some(inviter) => format!("{} (invited by {inviter})", self.name),
            None => self.name.clone(),
        }
    }
}

/// A link as its session keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Grant {
    id: LinkId,
    /// The link of the session that made this link; `None` if that session has ended without one above it.
    inviter: Option<LinkId>,
    /// Whether the server printed the link.
    is_printed: bool,
    made: Timestamp,
    #[serde(flatten)]
    pub(super) guest: Guest,
}

/// A link that nobody has used yet.
#[derive(Debug)]
struct OpenLink {
    token: Mark,
    grant: Grant,
    /// The time at which the link expires; `None` if it is valid until the process ends.
    expires: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Session {
    #[serde(flatten)]
    pub(super) grant: Grant,
    used: Timestamp,
    /// Cancelled when the session is removed, so that its streams end with it.
    #[serde(skip)]
    pub(super) ended: CancellationToken,
}

impl Session {
    fn is_good(&self, now: Timestamp) -> bool {
        now.duration_since(self.used) < IDLE
    }
}

/// A link that its reader may take back, or the session that it signed in.
#[derive(Debug, Serialize)]
pub(in crate::http) struct ListedLink {
    id: LinkId,
    #[serde(flatten)]
    guest: Guest,
    #[serde(with = "teardown::millis::required")]
    made: Timestamp,
    /// The time at which an open link expires.
    #[serde(with = "teardown::millis::optional")]
    expires: Option<Timestamp>,
    /// The last use of the session; `None` if nobody has used the link yet.
    #[serde(with = "teardown::millis::optional")]
    used: Option<Timestamp>,
}

/// Links, sessions and wrong attempts.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    links: Vec<OpenLink>,
    sessions: BTreeMap<Mark, Session>,
    strikes: Vec<Timestamp>,
    saved: Option<Timestamp>,
}

impl Ledger {
    /// Starts with saved sessions. A server that allows less than the last one lowers their rights.
    pub(super) fn of(mut sessions: BTreeMap<Mark, Session>, most: Right) -> Self {
        for session in sessions.values_mut() {
            let guest = &mut session.grant.guest;
            guest.right = guest.right.min(most);
        }
        Self { sessions, ..Self::default() }
    }

    /// The sessions to save now.
    pub(super) fn save(&mut self, now: Timestamp) -> BTreeMap<Mark, Session> {
        self.saved = Some(now);
        self.sessions.clone()
    }

    /// Whether the last save is long ago.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.saved.is_none_or(|saved| now.duration_since(saved) >= SAVE_EVERY)
    }

    /// Adds the link that the server prints.
    pub(super) fn print(&mut self, token: Mark, id: LinkId, guest: Guest, now: Timestamp) {
        let grant = Grant { id, inviter: None, is_printed: true, made: now, guest };
        self.add(OpenLink { token, grant, expires: None });
    }

    /// Adds the link that a session makes. Its right is at most that of the session.
    pub(super) fn invite(
        &mut self,
        inviter: &Mark,
        token: Mark,
        id: LinkId,
        guest: Guest,
        now: Timestamp,
        expires: Option<Timestamp>,
    ) -> Result<(), Failure> {
        // The session may have ended since the request was let in.
        let inviter = &self.sessions.get(inviter).ok_or(Failure::NotSignedIn)?.grant;
        if guest.right > inviter.guest.right {
            return Err(Failure::NotAllowed(guest.right));
        }
        let inviter = Some(inviter.id.clone());
        let grant = Grant { id, inviter, is_printed: false, made: now, guest };
        self.add(OpenLink { token, grant, expires });
        Ok(())
    }

    fn add(&mut self, link: OpenLink) {
        if self.links.len() >= LINKS {
            let least =
                (0..).zip(&self.links).min_by_key(|(at, link)| (link.grant.guest.right, *at));
            if let Some((at, _)) = least {
                self.links.remove(at);
            }
        }
        self.links.push(link);
    }

    /// Exchanges a link for a session.
    pub(super) fn exchange(
        &mut self,
        token: &Mark,
        session: Mark,
        now: Timestamp,
    ) -> Result<Session, Failure> {
        self.links.retain(|link| link.expires.is_none_or(|expires| now < expires));
        // Every link is compared in constant time, so that the duration reveals nothing.
        let same = |link: &Mark| bool::from(link.0.as_bytes().ct_eq(token.0.as_bytes()));
        let found = (0..)
            .zip(&self.links)
            .fold(None, |found, (at, link)| if same(&link.token) { Some(at) } else { found });
        let Some(at) = found else {
            self.strikes.retain(|strike| now.duration_since(*strike) < STRIKE_WINDOW);
            if self.strikes.len() >= STRIKES {
                return Err(Failure::TooManyAttempts {
                    after: Duration::from_secs(STRIKE_WINDOW.as_secs().unsigned_abs()),
                });
            }
            self.strikes.push(now);
            return Err(Failure::WrongToken);
        };
        let OpenLink { grant, .. } = self.links.remove(at);
        let expired = self.sessions.iter().filter(|(_, session)| !session.is_good(now));
        let expired: Vec<Mark> = expired.map(|(mark, _)| mark.clone()).collect();
        expired.iter().for_each(|mark| self.end(mark));
        if self.sessions.len() >= SESSIONS {
            let least = self
                .sessions
                .iter()
                .min_by_key(|(_, session)| (session.grant.guest.right, session.used))
                .map(|(mark, _)| mark.clone());
            if let Some(mark) = least {
                self.end(&mark);
            }
        }
        let open = Session { grant, used: now, ended: CancellationToken::new() };
        self.sessions.insert(session, open.clone());
        Ok(open)
    }

    /// Removes a session and ends its streams. What it made then belongs to its own inviter, so that somebody can still take
    /// that back.
    pub(super) fn end(&mut self, session: &Mark) {
        let Some(Session { grant, ended, .. }) = self.sessions.remove(session) else { return };
        ended.cancel();
        let links = self.links.iter_mut().map(|link| &mut link.grant);
        let sessions = self.sessions.values_mut().map(|session| &mut session.grant);
        for made in links.chain(sessions).filter(|it| it.inviter.as_ref() == Some(&grant.id)) {
            made.inviter.clone_from(&grant.inviter);
        }
    }

    /// Counts a session as used.
    pub(super) fn touch(&mut self, session: &Mark, now: Timestamp) -> Option<Session> {
        let found = self.sessions.get_mut(session)?;
        if !found.is_good(now) {
            self.end(session);
            return None;
        }
        found.used = now;
        Some(found.clone())
    }

    /// The links and sessions that a session may take back, the newest first.
    pub(super) fn list(&self, session: &Mark, now: Timestamp) -> Vec<ListedLink> {
        let Some(Session { grant: reader, .. }) = self.sessions.get(session) else { return vec![] };
        let links = self.links.iter().filter(|link| link.expires.is_none_or(|at| now < at));
        let links = links.map(|link| (&link.grant, link.expires, None));
        let sessions = self.sessions.values().filter(|session| session.is_good(now));
        let sessions = sessions.map(|session| (&session.grant, None, Some(session.used)));
        let mut listed: Vec<ListedLink> = links
            .chain(sessions)
            .filter(|(grant, ..)| self.may_take_back(reader, grant))
            .map(|(grant, expires, used)| {
                let Grant { id, made, guest, .. } = grant.clone();
                ListedLink { id, guest, made, expires, used }
            })
            .collect();
        listed.sort_by_key(|link| std::cmp::Reverse(link.made));
        listed
    }

    /// Takes a link back: it no longer signs in, or its session ends. What was made with it ends too, or whoever is sent
    /// away could come back with a link of their own.
    pub(super) fn take_back(&mut self, session: &Mark, id: &str) -> Result<(), Failure> {
        let taker = &self.sessions.get(session).ok_or(Failure::NotSignedIn)?.grant;
        let link = self.grants().find(|grant| *grant.id.0 == *id).ok_or(Failure::UnknownLink)?;
        if !self.may_take_back(taker, link) {
            return Err(Failure::UnknownLink);
        }
        let falls = |grant: &&Grant| {
            grant.id == link.id || self.inviters(grant).any(|inviter| *inviter == link.id)
        };
        let fallen: Vec<LinkId> =
            self.grants().filter(falls).map(|grant| grant.id.clone()).collect();
        self.links.retain(|link| !fallen.contains(&link.grant.id));
        let sessions = self.sessions.iter().filter(|(_, it)| fallen.contains(&it.grant.id));
        let sessions: Vec<Mark> = sessions.map(|(mark, _)| mark.clone()).collect();
        sessions.iter().for_each(|mark| self.end(mark));
        Ok(())
    }

    /// A session takes back what was made with it, directly or by its guests; that of a printed link takes back all. It
    /// ends itself by signing out.
    fn may_take_back(&self, taker: &Grant, grant: &Grant) -> bool {
        grant.id != taker.id
            && (taker.is_printed || self.inviters(grant).any(|inviter| *inviter == taker.id))
    }

    fn grants(&self) -> impl Iterator<Item = &Grant> {
        let links = self.links.iter().map(|link| &link.grant);
        links.chain(self.sessions.values().map(|session| &session.grant))
    }

    /// The link with which a link was made, the link with which that one was made, and so on.
    fn inviters<'a>(&'a self, grant: &'a Grant) -> impl Iterator<Item = &'a LinkId> {
        let next = |id: &&LinkId| self.grants().find(|grant| grant.id == **id)?.inviter.as_ref();
        // The limit ends the walk if a file that somebody has edited makes a circle.
        successors(grant.inviter.as_ref(), next).take(SESSIONS)
    }
}

#[cfg(test)]
mod tests;
