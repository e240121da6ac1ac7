use super::*;

#[test]
fn revisions_and_topics_parse_their_own_text() {
    let revision = Revision { boot: u64::MAX, count: 12 };
    assert_eq!(revision.to_string().parse(), Ok(revision));
    for bad in ["", ":", "x:1", "1:-1", "1", "1:2:3", "ffffffffffffffffff:1"] {
        assert_eq!(bad.parse::<Revision>(), Err(RevisionError), "{bad}");
    }
    let (unit, run) = (Topic::Unit(UnitId::new("ns:shop")), Topic::Run(RunId::new("1f")));
    for topic in [Topic::Units, Topic::Trouble, unit, run] {
        assert_eq!(topic.to_string().parse(), Ok(topic));
    }
    for bad in ["", "unit", "unit:", "runs:1", "UNITS", "trouble:"] {
        assert_eq!(bad.parse::<Topic>(), Err(TopicError), "{bad}");
    }
}
