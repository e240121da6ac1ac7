//! Access control for browsers on this machine: one-time links, and the sessions that they are exchanged for.
//!
//! A link's token and a session's id are 256 random bits from the operating system. Only their SHA-256 is kept, so that
//! the contents of the memory or of the file are not enough to sign in. Sessions outlive the process: every open page
//! reconnects to a server that was killed and started again on the same port.

mod ledger;

use std::{
    collections::BTreeMap,
    fmt, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use http::{HeaderMap, HeaderValue, header};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use teardown::right::Right;
use tokio_util::sync::CancellationToken;

pub(super) use self::ledger::{Guest, ListedLink, Mark};
use self::ledger::{Ledger, LinkId, Session};
use super::{Failure, printable::printable, random::random_hex};
use crate::{blocking::blocking, private_file};

/// The time for which a link made on the page is valid. The link printed at the start is valid until it is used.
const LINK_LIFE: SignedDuration = SignedDuration::from_hours(1);

/// The file's name in the state directory.
const FILE: &str = "sessions.json";

/// The version of the file's format.
const VERSION: u32 = 3;

/// A new secret. It is shown once and never stored.
pub struct Token(String);

impl Token {
    fn mint() -> Self {
        Self(random_hex::<32>())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// A person who is signed in.
#[derive(Clone, Debug)]
pub(super) struct Person {
    /// The name, the inviter and the right.
    pub(super) guest: Guest,
    /// The person's session.
    pub(super) session: Mark,
    /// Cancelled when the session ends.
    pub(super) ended: CancellationToken,
}

/// A link that signs one browser in once.
#[derive(Debug)]
pub struct Link {
    address: SocketAddr,
    path: String,
    token: Token,
    /// The time at which the link expires; `None` if it is valid until the process ends.
    pub expires: Option<Timestamp>,
}

impl Link {
    /// The address to open. The token is in the fragment, so it reaches no log and no other site.
    pub fn url(&self) -> String {
        format!("http://{}{}#k={}", self.address, self.path, self.token.0)
    }
}

/// The access control of a listener on this machine.
pub struct LocalAccess {
    address: SocketAddr,
    names: [String; 3],
    cookie: String,
    file: Option<PathBuf>,
    ledger: Mutex<Ledger>,
}

impl LocalAccess {
    /// Creates the access control for a listener at `address`, with the sessions stored in `state`, if given. No session
    /// has more than the right `most`. Returns it with the first link, which is for `name` and has that right.
    pub fn open(
        address: SocketAddr,
        state: Option<&Path>,
        name: &str,
        most: Right,
        now: Timestamp,
    ) -> (Self, Link) {
        let port = address.port();
        let file = state.map(|dir| dir.join(FILE));
        let sessions = file.as_deref().map(load).unwrap_or_default().sessions;
        let access = Self {
            address,
            names: [
                format!("127.0.0.1:{port}"),
                format!("localhost:{port}"),
                format!("[::1]:{port}"),
            ],
            cookie: format!("unwind_{port}"),
            file,
            ledger: Mutex::new(Ledger::of(sessions, most)),
        };
        let token = Token::mint();
        let guest = Guest { name: name.to_owned(), invited_by: None, right: most };
        access.with(|ledger| ledger.print(Mark::of(&token.0), LinkId::mint(), guest, now));
        access.save(now);
        (access, Link { address, path: "/".to_owned(), token, expires: None })
    }

    /// Whether `authority`, a host with its port, names this server.
    pub(super) fn is_called(&self, authority: &str) -> bool {
        self.names.iter().any(|name| name == authority)
    }

    /// Exchanges a link's token for a session. Returns the person and the cookie.
    pub(super) fn sign_in(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Result<(Person, HeaderValue), Failure> {
        let id = Token::mint();
        let session = Mark::of(&id.0);
        let open = self.with(|ledger| ledger.exchange(&Mark::of(token), session.clone(), now))?;
        self.save(now);
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie, id.0);
        let mut cookie = HeaderValue::try_from(cookie).map_err(|_| Failure::Internal)?;
        cookie.set_sensitive(true);
        Ok((Person { guest: open.grant.guest, session, ended: open.ended }, cookie))
    }

    /// Ends a session and its streams. Returns the cookie that clears the browser's cookie.
    pub(super) fn sign_out(&self, session: &Mark, now: Timestamp) -> Result<HeaderValue, Failure> {
        self.with(|ledger| ledger.end(session));
        self.save(now);
        let cookie = format!("{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0", self.cookie);
        HeaderValue::try_from(cookie).map_err(|_| Failure::Internal)
    }

    /// Makes a link with a session. The link signs `guest` in and then shows `path`.
    pub(super) fn link(
        &self,
        inviter: &Mark,
        guest: Guest,
        path: String,
        now: Timestamp,
    ) -> Result<Link, Failure> {
        let token = Token::mint();
        let mark = Mark::of(&token.0);
        let expires = now.saturating_add(LINK_LIFE).ok();
        self.with(|ledger| ledger.invite(inviter, mark, LinkId::mint(), guest, now, expires))?;
        Ok(Link { address: self.address, path, token, expires })
    }

    /// The links and sessions that a session may take back.
    pub(super) fn links(&self, session: &Mark, now: Timestamp) -> Vec<ListedLink> {
        self.with(|ledger| ledger.list(session, now))
    }

    /// Takes a link back, and ends its session and the streams of it.
    pub(super) fn take_back(
        &self,
        session: &Mark,
        id: &str,
        now: Timestamp,
    ) -> Result<(), Failure> {
        self.with(|ledger| ledger.take_back(session, id))?;
        self.save(now);
        Ok(())
    }

    /// The person whose session these headers name, if signed in. The session counts as used.
    pub(super) fn admit(&self, headers: &HeaderMap, now: Timestamp) -> Option<Person> {
        let cookies =
            headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let ours = cookies
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(name, _)| *name == self.cookie)
            .map(|(_, id)| Mark::of(id));
        // There is more than one only if another program on this host set a cookie of the same name.
        let person = ours.take(4).find_map(|session| self.touch(&session, now));
        if person.is_some() && self.with(|ledger| ledger.is_due(now)) {
            self.save(now);
        }
        person
    }

    /// Counts a session as used.
    pub(super) fn touch(&self, session: &Mark, now: Timestamp) -> Option<Person> {
        let open = self.with(|ledger| ledger.touch(session, now))?;
        Some(Person { guest: open.grant.guest, session: session.clone(), ended: open.ended })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Ledger) -> T) -> T {
        act(&mut self.ledger.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Saves the sessions. A failure does not stop the server, because only a restart needs the file.
    fn save(&self, now: Timestamp) {
        let Some(path) = &self.file else { return };
        // The lock is held during the write of a few kilobytes, so that two writes cannot interleave.
        let kept = blocking(|| {
            self.with(|ledger| {
                let sessions = ledger.save(now);
                let kept = Kept { v: VERSION, port: self.address.port(), sessions };
                private_file::replace(path, &serde_json::to_vec(&kept)?)
            })
        });
        if let Err(error) = kept {
            tracing::warn!(error = %error, path = ?path, "cannot save the sessions; after a restart everybody must sign in again");
        }
    }
}

/// The port of the last start, to which open pages reconnect.
pub(super) fn last_port(state: &Path) -> Option<u16> {
    Some(load(&state.join(FILE)).port).filter(|port| *port != 0)
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    v: u32,
    port: u16,
    sessions: BTreeMap<Mark, Session>,
}

/// Reads the file. A missing or damaged file, or one that others can write, counts as empty, so that everybody signs in
/// again.
fn load(path: &Path) -> Kept {
    match read(path) {
        Ok(kept) => kept,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Kept::default(),
        Err(error) => {
            tracing::warn!(error = %printable(&error.to_string()), path = ?path, "cannot use the saved sessions; everybody must sign in again");
            Kept::default()
        }
    }
}

fn read(path: &Path) -> io::Result<Kept> {
    let kept: Kept = serde_json::from_slice(&private_file::read(path)?)?;
    if kept.v != VERSION {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "another version of this program wrote the file",
        ));
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    fn guest(name: &str) -> Guest {
        Guest { name: name.to_owned(), invited_by: None, right: Right::Look }
    }

    fn open(state: &Path, now: Timestamp) -> (LocalAccess, Link) {
        open_with(state, Right::Act, now)
    }

    fn open_with(state: &Path, most: Right, now: Timestamp) -> (LocalAccess, Link) {
        LocalAccess::open(SocketAddr::from(([127, 0, 0, 1], 7433)), Some(state), "Li", most, now)
    }

    fn token(link: &Link) -> String {
        link.url().split_once("#k=").unwrap().1.to_owned()
    }

    fn cookie(value: &HeaderValue) -> HeaderMap {
        let pair = value.to_str().unwrap().split(';').next().unwrap().to_owned();
        HeaderMap::from_iter([(
            header::COOKIE,
            HeaderValue::try_from(format!("other=1; {pair}")).unwrap(),
        )])
    }

    #[test]
    fn restart_keeps_sessions_and_drops_links() {
        let dir = tempfile::tempdir().unwrap();
        let (access, link) = open(dir.path(), at(0));
        let (person, value) = access.sign_in(&token(&link), at(0)).unwrap();
        let unused = access.link(&person.session, guest("Wang"), "/".into(), at(0)).unwrap();
        drop(access);

        let (access, _) = open(dir.path(), at(1));
        assert_eq!(access.admit(&cookie(&value), at(1)).map(|it| it.session), Some(person.session));
        assert_eq!(access.sign_in(&token(&unused), at(1)).err(), Some(Failure::WrongToken));
        assert_eq!(last_port(dir.path()), Some(7433));

        let (access, _) = open(dir.path(), at(13 * 60));
        assert!(access.admit(&cookie(&value), at(13 * 60)).is_none());
    }

    #[test]
    fn restart_that_allows_less_lowers_the_rights_of_saved_sessions() {
        let dir = tempfile::tempdir().unwrap();
        let right_after = |most, value: &HeaderValue| {
            let (access, _) = open_with(dir.path(), most, at(0));
            access.admit(&cookie(value), at(0)).map(|it| it.guest.right)
        };
        let (access, link) = open_with(dir.path(), Right::Act, at(0));
        let (person, value) = access.sign_in(&token(&link), at(0)).unwrap();
        assert_eq!(person.guest.right, Right::Act);
        assert_eq!(right_after(Right::Act, &value), Some(Right::Act));
        assert_eq!(right_after(Right::Look, &value), Some(Right::Look));
        assert_eq!(right_after(Right::Act, &value), Some(Right::Look), "it does not grow again");
    }

    #[test]
    fn file_of_another_version_counts_as_empty() {
        let dir = tempfile::tempdir().unwrap();
        let (access, link) = open(dir.path(), at(0));
        let (_, value) = access.sign_in(&token(&link), at(0)).unwrap();
        let path = dir.path().join(FILE);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("\"v\":3", "\"v\":2", 1)).unwrap();
        let (access, _) = open(dir.path(), at(0));
        assert!(access.admit(&cookie(&value), at(0)).is_none());
    }

    #[test]
    fn sessions_file_is_private_and_holds_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        let (access, link) = open(dir.path(), at(0));
        let (_, value) = access.sign_in(&token(&link), at(0)).unwrap();
        let path = dir.path().join(FILE);
        let text = fs::read_to_string(&path).unwrap();
        let id = value.to_str().unwrap().split(['=', ';']).nth(1).unwrap();
        assert!(id.len() == 64 && !text.contains(id) && !text.contains(&token(&link)), "{text}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!format!("{link:?} {value:?}").contains(id), "secrets do not print");
        assert!(!format!("{link:?}").contains(&token(&link)), "secrets do not print");
    }

    #[test]
    fn untrusted_sessions_file_counts_as_empty() {
        let dir = tempfile::tempdir().unwrap();
        let (access, link) = open(dir.path(), at(0));
        let (_, value) = access.sign_in(&token(&link), at(0)).unwrap();
        let path = dir.path().join(FILE);
        let whole = fs::read(&path).unwrap();
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            assert!(load(&path).sessions.is_empty());
        }
        fs::write(&path, &whole).unwrap();
        assert_eq!(load(&path).sessions.len(), 1);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let (access, _) = open(dir.path(), at(0));
        assert!(access.admit(&cookie(&value), at(0)).is_none());
    }

    #[test]
    fn host_must_match_exactly() {
        let address = SocketAddr::from(([127, 0, 0, 1], 7433));
        let (access, _) = LocalAccess::open(address, None, "Li", Right::Act, at(0));
        for name in ["127.0.0.1:7433", "localhost:7433", "[::1]:7433"] {
            assert!(access.is_called(name), "{name}");
        }
        for name in [
            "127.0.0.1",
            "localhost",
            "localhost:743",
            "evil.example:7433",
            "127.0.0.1:7433.evil",
            "",
            "LOCALHOST:7433",
        ] {
            assert!(!access.is_called(name), "{name}");
        }
    }
}
