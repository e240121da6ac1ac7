//! The rules of the ledger, without a clock and without a random source.

use super::*;

fn at(minutes: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
}

fn mark(text: &str) -> Mark {
    Mark::of(text)
}

fn id(text: &str) -> LinkId {
    LinkId(text.into())
}

fn guest(name: &str, right: Right) -> Guest {
    Guest { name: name.to_owned(), invited_by: None, right }
}

fn print(ledger: &mut Ledger, token: &str) {
    let name = format!("holder of {token}");
    ledger.print(mark(token), id(token), guest(&name, Right::Act), at(0));
}

fn invite(ledger: &mut Ledger, inviter: &str, token: &str, right: Right) -> Result<(), Failure> {
    let name = format!("holder of {token}");
    ledger.invite(&mark(inviter), mark(token), id(token), guest(&name, right), at(0), Some(at(60)))
}

fn exchange(
    ledger: &mut Ledger,
    token: &str,
    session: &str,
    now: Timestamp,
) -> Result<String, Failure> {
    ledger.exchange(&mark(token), mark(session), now).map(|open| open.grant.guest.name)
}

/// Makes a link with a session and signs in with it. The session, the link and its id have one name.
fn join(ledger: &mut Ledger, inviter: &str, name: &str, right: Right) {
    invite(ledger, inviter, name, right).unwrap();
    exchange(ledger, name, name, at(0)).unwrap();
}

fn printed(links: &[&str]) -> Ledger {
    let mut ledger = Ledger::default();
    links.iter().for_each(|token| print(&mut ledger, token));
    ledger
}

/// Li has the printed link. Li invited Wang and Sun; Wang invited Ana, who may look.
fn team() -> Ledger {
    let mut ledger = printed(&["li"]);
    exchange(&mut ledger, "li", "li", at(0)).unwrap();
    join(&mut ledger, "li", "wang", Right::Act);
    join(&mut ledger, "li", "sun", Right::Act);
    join(&mut ledger, "wang", "ana", Right::Look);
    ledger
}

fn listed(ledger: &Ledger, session: &str) -> String {
    let mut ids: Vec<String> =
        ledger.list(&mark(session), at(1)).iter().map(|link| link.id.0.to_string()).collect();
    ids.sort();
    ids.join(" ")
}

fn is_in(ledger: &mut Ledger, session: &str) -> bool {
    ledger.touch(&mark(session), at(0)).is_some()
}

#[test]
fn link_is_accepted_once() {
    let mut ledger = printed(&["a", "b"]);
    assert_eq!(exchange(&mut ledger, "b", "1", at(0)), Ok("holder of b".into()));
    assert_eq!(exchange(&mut ledger, "b", "2", at(0)), Err(Failure::WrongToken));
    assert!(is_in(&mut ledger, "1") && !is_in(&mut ledger, "2"));
    assert_eq!(exchange(&mut ledger, "a", "3", at(9999)), Ok("holder of a".into()));
}

#[test]
fn link_expires_after_its_lifetime() {
    let mut ledger = team();
    invite(&mut ledger, "li", "late", Right::Look).unwrap();
    assert_eq!(exchange(&mut ledger, "late", "1", at(60)), Err(Failure::WrongToken));
}

#[test]
fn unused_session_expires() {
    let mut ledger = printed(&["a"]);
    ledger.exchange(&mark("a"), mark("1"), at(0)).unwrap();
    assert!(ledger.touch(&mark("1"), at(11 * 60)).is_some());
    assert!(ledger.touch(&mark("1"), at(22 * 60)).is_some());
    assert!(ledger.touch(&mark("1"), at(34 * 60)).is_none());
    assert!(ledger.touch(&mark("1"), at(34 * 60)).is_none(), "looking at it does not revive it");
}

#[test]
fn many_wrong_tokens_get_429_and_the_right_one_is_accepted() {
    let mut ledger = printed(&["a"]);
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
        print(&mut ledger, &number.to_string());
    }
    assert_eq!(ledger.links.len(), LINKS);
    assert_eq!(exchange(&mut ledger, "0", "s", at(0)), Err(Failure::WrongToken));

    for number in 0..SESSIONS + 3 {
        print(&mut ledger, "t");
        ledger.exchange(&mark("t"), mark(&number.to_string()), at(number as i64)).unwrap();
    }
    assert_eq!(ledger.sessions.len(), SESSIONS);
    assert!(ledger.touch(&mark("2"), at(70)).is_none());
    assert!(ledger.touch(&mark("3"), at(70)).is_some());
}

#[test]
fn guest_who_may_look_pushes_out_nobody_who_may_act() {
    let mut ledger = team();
    invite(&mut ledger, "li", "open", Right::Act).unwrap();
    for number in 0..LINKS.max(SESSIONS) + 3 {
        join(&mut ledger, "li", &format!("crowd {number}"), Right::Look);
        invite(&mut ledger, "li", &format!("spare {number}"), Right::Look).unwrap();
    }
    assert_eq!((ledger.links.len(), ledger.sessions.len()), (LINKS, SESSIONS));
    for session in ["li", "wang", "sun"] {
        assert!(is_in(&mut ledger, session), "{session}");
    }
    assert!(exchange(&mut ledger, "open", "open", at(0)).is_ok());
}

#[test]
fn inviter_gives_at_most_the_own_right() {
    let mut ledger = team();
    for (inviter, right, allowed) in [
        ("li", Right::Look, true),
        ("li", Right::Act, true),
        ("ana", Right::Look, true),
        ("ana", Right::Act, false),
    ] {
        let made = invite(&mut ledger, inviter, "new", right);
        let expected = if allowed { Ok(()) } else { Err(Failure::NotAllowed(right)) };
        assert_eq!(made, expected, "{inviter} {right}");
    }
    assert_eq!(invite(&mut ledger, "nobody", "new", Right::Look), Err(Failure::NotSignedIn));
}

#[test]
fn session_lists_and_takes_back_what_it_and_its_guests_made() {
    let ledger = team();
    assert_eq!(listed(&ledger, "li"), "ana sun wang", "the printed link's session sees all others");
    assert_eq!(listed(&ledger, "wang"), "ana");
    assert_eq!(listed(&ledger, "sun"), "");
    assert_eq!(listed(&ledger, "ana"), "");
    assert_eq!(listed(&ledger, "nobody"), "");
    for (taker, taken) in [
        ("wang", "li"),
        ("wang", "sun"),
        ("ana", "wang"),
        ("ana", "ana"),
        ("li", "li"),
        ("li", "x"),
    ] {
        let mut ledger = team();
        let refused = ledger.take_back(&mark(taker), taken);
        assert_eq!(refused, Err(Failure::UnknownLink), "{taker} {taken}");
        assert_eq!(listed(&ledger, "li"), "ana sun wang");
    }
}

#[test]
fn name_of_the_printed_link_gives_a_guest_no_power() {
    let mut ledger = team();
    let name = guest("holder of li", Right::Look);
    ledger.invite(&mark("sun"), mark("t"), id("t"), name, at(0), None).unwrap();
    exchange(&mut ledger, "t", "t", at(0)).unwrap();
    assert_eq!(listed(&ledger, "t"), "");
}

#[test]
fn link_that_is_taken_back_no_longer_signs_in() {
    let mut ledger = team();
    invite(&mut ledger, "wang", "open", Right::Look).unwrap();
    assert_eq!(listed(&ledger, "wang"), "ana open");
    ledger.take_back(&mark("wang"), "open").unwrap();
    assert_eq!(exchange(&mut ledger, "open", "1", at(0)), Err(Failure::WrongToken));
    assert_eq!(ledger.take_back(&mark("wang"), "open"), Err(Failure::UnknownLink));
}

#[test]
fn session_that_is_taken_back_ends_with_all_that_it_made() {
    let mut ledger = team();
    join(&mut ledger, "ana", "bo", Right::Look);
    invite(&mut ledger, "bo", "open", Right::Look).unwrap();
    let streams = ledger.touch(&mark("bo"), at(0)).unwrap().ended;
    ledger.take_back(&mark("li"), "wang").unwrap();
    assert!(streams.is_cancelled());
    assert_eq!(listed(&ledger, "li"), "sun");
    assert_eq!(exchange(&mut ledger, "open", "1", at(0)), Err(Failure::WrongToken));
    for session in ["wang", "ana", "bo"] {
        assert!(!is_in(&mut ledger, session), "{session}");
    }
}

#[test]
fn guest_of_somebody_who_signed_out_can_still_be_taken_back_by_the_inviter_of_both() {
    let mut ledger = team();
    join(&mut ledger, "ana", "bo", Right::Look);
    ledger.end(&mark("ana"));
    assert!(is_in(&mut ledger, "bo"), "signing out ends no other session");
    assert_eq!(listed(&ledger, "wang"), "bo");
    ledger.take_back(&mark("wang"), "bo").unwrap();
    assert!(!is_in(&mut ledger, "bo"));
}

#[test]
fn guest_of_a_printed_link_that_signed_out_becomes_no_printed_one() {
    let mut ledger = team();
    ledger.end(&mark("li"));
    assert_eq!(listed(&ledger, "sun"), "");
    print(&mut ledger, "restart");
    exchange(&mut ledger, "restart", "restart", at(0)).unwrap();
    assert_eq!(listed(&ledger, "restart"), "ana sun wang", "the next printed link sees them");
}

#[test]
fn circle_of_inviters_ends() {
    let mut ledger = team();
    ledger.sessions.get_mut(&mark("wang")).unwrap().grant.inviter = Some(id("ana"));
    assert_eq!(listed(&ledger, "sun"), "");
    assert_eq!(ledger.take_back(&mark("sun"), "ana"), Err(Failure::UnknownLink));
}

#[test]
fn list_leaves_out_the_expired() {
    let mut ledger = team();
    invite(&mut ledger, "li", "open", Right::Look).unwrap();
    let count = |ledger: &Ledger, now| ledger.list(&mark("li"), now).len();
    assert_eq!((count(&ledger, at(59)), count(&ledger, at(60))), (4, 3));
    assert_eq!(count(&ledger, at(12 * 60)), 0);
}
