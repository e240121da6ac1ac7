//! Access control for browsers on this machine: one-time links, and the sessions that they are exchanged for.
//!
//! A link's token and a session's id are 256 random bits from the operating system. Only their SHA-256 is kept, so that
//! the contents of the memory or of the file are not enough to sign in. Sessions outlive the process: every open page
//! reconnects to a server that was killed and started again on the same port.

use std::{
    collections::BTreeMap,
    fmt, fs,
    io::{self, Write},
    net::SocketAddr,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::{HeaderMap, HeaderValue, header};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

use super::{
    Failure,
    hex::{hex, random_hex},
    printable::printable,
};

/// The time after which an unused session expires. An open page uses its session.
const IDLE: SignedDuration = SignedDuration::from_hours(12);

/// The time for which a link made on the page is valid. The link printed at the start is valid until it is used.
const LINK_LIFE: SignedDuration = SignedDuration::from_hours(1);

/// The most unused links. A new link replaces the oldest.
const LINKS: usize = 16;

/// The most sessions. A new session replaces the one that was used longest ago.
const SESSIONS: usize = 64;

/// The wrong tokens per [`STRIKE_WINDOW`] after which further wrong tokens get 429. The right token is always accepted:
/// 256 bits cannot be guessed, so wrong tries must not lock out the person who holds the link.
const STRIKES: usize = 10;

/// The period in which wrong tokens are counted.
const STRIKE_WINDOW: SignedDuration = SignedDuration::from_mins(1);

/// The longest delay before a session's last use is saved. After a restart, a session may expire earlier by this time.
const SAVE_EVERY: SignedDuration = SignedDuration::from_mins(5);

/// The file's name in the state directory.
const FILE: &str = "sessions.json";

/// The version of the file's format.
const VERSION: u32 = 2;

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

/// The SHA-256 of a secret in hexadecimal, which is stored instead of the secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Mark(Arc<str>);

impl Mark {
    fn of(secret: &str) -> Self {
        Self(hex(&Sha256::digest(secret)).into())
    }
}

/// A person who is signed in.
#[derive(Clone, Debug)]
pub(super) struct Person {
    /// The name and the inviter.
    pub(super) guest: Guest,
    /// The person's session.
    pub(super) session: Mark,
    /// Cancelled when the session ends.
    pub(super) ended: CancellationToken,
}

/// The person whom a link signs in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Guest {
    pub(super) name: String,
    /// The person who made the link for another name; `None` for the person who started the server.
    pub(super) invited_by: Option<String>,
}

impl Guest {
    /// The name for the record of a run. It includes the inviter, because an inviter can choose any name for a guest.
    pub(super) fn recorded(&self) -> String {
        match &self.invited_by {
            Some(inviter) => format!("{} (invited by {inviter})", self.name),
            None => self.name.clone(),
        }
    }
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
    /// Creates the access control for a listener at `address`, with the sessions stored in `state`, if given. Returns it
    /// with the first link, which is for `name`.
    pub fn open(
        address: SocketAddr,
        state: Option<&Path>,
        name: &str,
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
            ledger: Mutex::new(Ledger { sessions, ..Ledger::default() }),
        };
        let token = Token::mint();
        let guest = Guest { name: name.to_owned(), invited_by: None };
        access.with(|ledger| ledger.issue(Mark::of(&token.0), guest, None));
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
        Ok((Person { guest: open.guest, session, ended: open.ended }, cookie))
    }

    /// Ends a session and its streams. Returns the cookie that clears the browser's cookie.
    pub(super) fn sign_out(&self, session: &Mark, now: Timestamp) -> Result<HeaderValue, Failure> {
        self.with(|ledger| ledger.end(session));
        self.save(now);
        let cookie = format!("{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0", self.cookie);
        HeaderValue::try_from(cookie).map_err(|_| Failure::Internal)
    }

    /// Makes a link that signs `guest` in and then shows `path`.
    pub(super) fn link(&self, guest: Guest, path: String, now: Timestamp) -> Link {
        let token = Token::mint();
        let expires = now.saturating_add(LINK_LIFE).ok();
        self.with(|ledger| ledger.issue(Mark::of(&token.0), guest, expires));
        Link { address: self.address, path, token, expires }
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
        Some(Person { guest: open.guest, session: session.clone(), ended: open.ended })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Ledger) -> T) -> T {
        act(&mut self.ledger.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Saves the sessions. A failure does not stop the server, because only a restart needs the file.
    fn save(&self, now: Timestamp) {
        let Some(path) = &self.file else { return };
        // The lock is held during the write of a few kilobytes, so that two writes cannot interleave.
        let kept = self.with(|ledger| {
            ledger.saved = Some(now);
            let sessions = ledger.sessions.clone();
            store(path, &Kept { v: VERSION, port: self.address.port(), sessions })
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

/// Links, sessions and wrong attempts. Its methods take the time as an argument, so that tests need no clock.
#[derive(Debug, Default)]
struct Ledger {
    links: Vec<(Mark, Guest, Option<Timestamp>)>,
    sessions: BTreeMap<Mark, Session>,
    strikes: Vec<Timestamp>,
    saved: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Session {
    #[serde(flatten)]
    guest: Guest,
    used: Timestamp,
    /// Cancelled when the session is removed, so that its streams end with it.
    #[serde(skip)]
    ended: CancellationToken,
}

impl Ledger {
    fn issue(&mut self, link: Mark, guest: Guest, expires: Option<Timestamp>) {
        if self.links.len() == LINKS {
            self.links.remove(0);
        }
        self.links.push((link, guest, expires));
    }

    fn exchange(
        &mut self,
        token: &Mark,
        session: Mark,
        now: Timestamp,
    ) -> Result<Session, Failure> {
        self.links.retain(|(_, _, expires)| expires.is_none_or(|expires| now < expires));
        // Every link is compared in constant time, so that the duration reveals nothing.
        let same = |link: &Mark| bool::from(link.0.as_bytes().ct_eq(token.0.as_bytes()));
        let found = (0..)
            .zip(&self.links)
            .fold(None, |found, (at, (link, ..))| if same(link) { Some(at) } else { found });
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
        let (_, guest, _) = self.links.remove(at);
        self.sessions.retain(|_, session| {
            let good = session.is_good(now);
            if !good {
                session.ended.cancel();
            }
            good
        });
        if self.sessions.len() >= SESSIONS {
            let oldest = self
                .sessions
                .iter()
                .min_by_key(|(_, session)| session.used)
                .map(|(mark, _)| mark.clone());
            if let Some(mark) = oldest {
                self.end(&mark);
            }
        }
        let open = Session { guest, used: now, ended: CancellationToken::new() };
        self.sessions.insert(session, open.clone());
        Ok(open)
    }

    /// Removes a session and ends its streams.
    fn end(&mut self, session: &Mark) {
        if let Some(session) = self.sessions.remove(session) {
            session.ended.cancel();
        }
    }

    fn touch(&mut self, session: &Mark, now: Timestamp) -> Option<Session> {
        let found = self.sessions.get_mut(session)?;
        if !found.is_good(now) {
            self.end(session);
            return None;
        }
        found.used = now;
        Some(found.clone())
    }

    fn is_due(&self, now: Timestamp) -> bool {
        self.saved.is_none_or(|saved| now.duration_since(saved) >= SAVE_EVERY)
    }
}

impl Session {
    fn is_good(&self, now: Timestamp) -> bool {
        now.duration_since(self.used) < IDLE
    }
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
    let file = fs::File::open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "others can read or write the file",
        ));
    }
    let kept: Kept = serde_json::from_reader(io::BufReader::new(file))?;
    if kept.v != VERSION {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "another version of this program wrote the file",
        ));
    }
    Ok(kept)
}

/// Replaces the file atomically, so that a crash leaves either the old or the new one.
fn store(path: &Path, kept: &Kept) -> io::Result<()> {
    let next = path.with_extension("next");
    match fs::remove_file(&next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&next)?;
    file.write_all(&serde_json::to_vec(kept)?)?;
    file.sync_all()?;
    fs::rename(&next, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    fn mark(text: &str) -> Mark {
        Mark::of(text)
    }

    fn guest(name: &str) -> Guest {
        Guest { name: name.to_owned(), invited_by: None }
    }

    fn exchange(
        ledger: &mut Ledger,
        token: &str,
        session: &str,
        now: Timestamp,
    ) -> Result<String, Failure> {
        ledger.exchange(&mark(token), mark(session), now).map(|open| open.guest.name)
    }

    fn ledger(links: &[(&str, Option<i64>)]) -> Ledger {
        let mut ledger = Ledger::default();
        for (token, expires) in links {
            ledger.issue(mark(token), guest(&format!("holder of {token}")), expires.map(at));
        }
        ledger
    }

    #[test]
    fn link_is_accepted_once() {
        let mut ledger = ledger(&[("a", None), ("b", None)]);
        assert_eq!(exchange(&mut ledger, "b", "1", at(0)), Ok("holder of b".into()));
        assert_eq!(exchange(&mut ledger, "b", "2", at(0)), Err(Failure::WrongToken));
        assert_eq!(ledger.touch(&mark("1"), at(0)).map(|it| it.guest), Some(guest("holder of b")));
        assert!(ledger.touch(&mark("2"), at(0)).is_none());
        assert_eq!(exchange(&mut ledger, "a", "3", at(9999)), Ok("holder of a".into()));
    }

    #[test]
    fn link_expires_after_its_lifetime() {
        let mut ledger = ledger(&[("a", Some(60))]);
        assert_eq!(exchange(&mut ledger, "a", "1", at(60)), Err(Failure::WrongToken));
    }

    #[test]
    fn unused_session_expires() {
        let mut ledger = ledger(&[("a", None)]);
        ledger.exchange(&mark("a"), mark("1"), at(0)).unwrap();
        assert!(ledger.touch(&mark("1"), at(11 * 60)).is_some());
        assert!(ledger.touch(&mark("1"), at(22 * 60)).is_some());
        assert!(ledger.touch(&mark("1"), at(34 * 60)).is_none());
        assert!(
            ledger.touch(&mark("1"), at(34 * 60)).is_none(),
            "looking at it does not revive it"
        );
    }

    #[test]
    fn many_wrong_tokens_get_429_and_the_right_one_is_accepted() {
        let mut ledger = ledger(&[("a", None)]);
        for _ in 0..STRIKES {
            assert_eq!(exchange(&mut ledger, "x", "1", at(0)), Err(Failure::WrongToken));
        }
        let refused = exchange(&mut ledger, "x", "1", at(0));
        assert!(matches!(refused, Err(Failure::TooManyAttempts { .. })));
        assert!(exchange(&mut ledger, "a", "1", at(0)).is_ok(), "the right one is never refused");
        assert_eq!(exchange(&mut ledger, "x", "1", at(1)), Err(Failure::WrongToken));
    }

    #[test]
    fn number_of_links_and_sessions_is_limited() {
        let mut ledger = Ledger::default();
        for number in 0..LINKS + 3 {
            ledger.issue(mark(&number.to_string()), guest(""), None);
        }
        assert_eq!(ledger.links.len(), LINKS);
        assert_eq!(exchange(&mut ledger, "0", "s", at(0)), Err(Failure::WrongToken));

        for number in 0..SESSIONS + 3 {
            ledger.issue(mark("t"), guest(""), None);
            ledger.exchange(&mark("t"), mark(&number.to_string()), at(number as i64)).unwrap();
        }
        assert_eq!(ledger.sessions.len(), SESSIONS);
        assert!(ledger.touch(&mark("2"), at(70)).is_none());
        assert!(ledger.touch(&mark("3"), at(70)).is_some());
    }

    fn open(state: &Path, now: Timestamp) -> (LocalAccess, Link) {
        LocalAccess::open(SocketAddr::from(([127, 0, 0, 1], 7433)), Some(state), "Li", now)
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
        let unused = access.link(guest("Wang"), "/".into(), at(0));
        drop(access);

        let (access, _) = open(dir.path(), at(1));
        assert_eq!(access.admit(&cookie(&value), at(1)).map(|it| it.session), Some(person.session));
        assert_eq!(access.sign_in(&token(&unused), at(1)).err(), Some(Failure::WrongToken));
        assert_eq!(last_port(dir.path()), Some(7433));

        let (access, _) = open(dir.path(), at(13 * 60));
        assert!(access.admit(&cookie(&value), at(13 * 60)).is_none());
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
        let (access, _) =
            LocalAccess::open(SocketAddr::from(([127, 0, 0, 1], 7433)), None, "Li", at(0));
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
