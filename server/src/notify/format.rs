//! The body of a notification in each format.

use clap::ValueEnum;
use serde_json::{Value, json};

use super::notification::{Event, Notification};

/// The most bytes of a body.
pub(super) const BODY: usize = 16 * 1024;
/// The lengths to which the text is cut, in characters, until the body is small enough. A chat shows about the first.
const LENGTHS: [usize; 4] = [3_000, 1_500, 300, 0];

/// The format of notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// An object with stable fields, for programs
    Json,
    /// A message for an incoming webhook of Slack
    Slack,
    /// A card for a bot of Lark or Feishu
    Lark,
}

impl Format {
    /// The body of this notification, at most [`BODY`] bytes.
    pub(super) fn body(self, notification: &Notification) -> Vec<u8> {
        let bodies = LENGTHS.iter().map(|most| {
            let text = cut(&notification.text, *most);
            let value = match self {
                Self::Json => json!(Notification { text, ..notification.clone() }),
                Self::Slack => slack(&notification.title, &text),
                Self::Lark => lark(notification.event, &notification.title, &text),
            };
            value.to_string().into_bytes()
        });
        // The text is cut to nothing in the end, and names in the cluster are short.
        bodies.into_iter().find(|body| body.len() <= BODY).unwrap_or_default()
    }

    /// Whether the answer to a delivery with a status of success says that it was taken. Lark answers 200 also for what it
    /// refuses, with another code than 0 in the body.
    pub(super) fn is_taken(self, answer: &[u8]) -> bool {
        match self {
            Self::Json | Self::Slack => true,
            Self::Lark => {
                let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
                ["code", "StatusCode"].iter().any(|name| answer[name].as_i64() == Some(0))
            }
        }
    }
}

/// The start of the text, on whole lines if they are short.
fn cut(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let start = &text[..end];
    let lines = start.rfind('\n').filter(|at| at * 2 > end).map_or(start, |at| &start[..at]);
    format!("{lines}\n…")
}

/// Slack reads `<…>` as links and mentions, and `&` as the start of an entity.
fn slack(title: &str, text: &str) -> Value {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let text = text.replace("**", "*");
    json!({ "text": format!("{}\n{}", escaped(title), escaped(&text)).trim_end() })
}

/// The texts of the card are `plain_text`, in which Lark reads neither Markdown nor tags such as `<at id=all>`. The angle
/// brackets are replaced all the same, so that no tag survives where a client shows the text in another way.
fn lark(event: Event, title: &str, text: &str) -> Value {
    let plain = |text: &str| text.replace("**", "").replace('<', "‹").replace('>', "›");
    let colour = match event {
        Event::Stuck => "red",
        Event::Resolved => "green",
    };
    let paragraph =
        json!({ "tag": "div", "text": { "tag": "plain_text", "content": plain(text) } });
    let elements = if text.is_empty() { vec![] } else { vec![paragraph] };
    json!({
        "msg_type": "interactive",
        "card": {
            "header": { "template": colour, "title": { "tag": "plain_text", "content": plain(title) } },
            "elements": elements,
        },
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use teardown::{diagnosis::Confidence, object::ObjectRef};

    use super::*;

    fn notification(text: &str) -> Notification {
        let root =
            ObjectRef { group: "".into(), kind: "Node".into(), namespace: None, name: "n1".into() };
        Notification {
            event: Event::Stuck,
            at: Timestamp::from_second(7).unwrap(),
            cluster: "prod".into(),
            id: "/Node//n1/".into(),
            cause: "nodeSilent".into(),
            root,
            confidence: Confidence::Confirmed,
            total: 2,
            since: Timestamp::UNIX_EPOCH,
            sentence: "a cause".into(),
            title: "A <title> & more".into(),
            text: text.into(),
        }
    }

    fn body(format: Format, text: &str) -> Value {
        serde_json::from_slice(&format.body(&notification(text))).unwrap()
    }

    #[test]
    fn json_has_stable_fields() {
        let expected = json!({
            "event": "stuck",
            "at": 7_000,
            "cluster": "prod",
            "id": "/Node//n1/",
            "cause": "nodeSilent",
            "root": { "group": "", "kind": "Node", "namespace": null, "name": "n1" },
            "confidence": "confirmed",
            "total": 2,
            "since": 0,
            "sentence": "a cause",
            "title": "A <title> & more",
            "text": "note",
        });
        assert_eq!(body(Format::Json, "note"), expected);
    }

    #[test]
    fn text_of_the_cluster_mentions_nobody_in_a_chat() {
        let text = "**Cause**\n- <!channel> <@U1> <at id=all></at> a&b";
        assert_eq!(
            body(Format::Slack, text),
            json!({ "text": "A &lt;title&gt; &amp; more\n*Cause*\n- &lt;!channel&gt; &lt;@U1&gt; &lt;at id=all&gt;&lt;/at&gt; a&amp;b" })
        );
        let lark = body(Format::Lark, text);
        let content = lark["card"]["elements"][0]["text"]["content"].as_str().unwrap();
        assert_eq!(content, "Cause\n- ‹!channel› ‹@U1› ‹at id=all›‹/at› a&b");
        assert_eq!(lark["card"]["header"]["template"], "red");
        assert!(!lark.to_string().contains("lark_md") && !lark.to_string().contains('<'));
    }

    #[test]
    fn long_text_is_cut_on_a_line_so_that_the_body_is_small() {
        for (line, count) in
            [("some words\n", 10_000), ("&<>&<>&<>&\n", 10_000), ("\u{1f600}", 100_000)]
        {
            let text = line.repeat(count);
            for format in [Format::Json, Format::Slack, Format::Lark] {
                let body = format.body(&notification(&text));
                assert!((100..=BODY).contains(&body.len()), "{format:?} {}", body.len());
                let text = String::from_utf8(body).unwrap();
                assert!(text.contains('…'), "{text}");
            }
        }
        assert_eq!(cut("one\ntwo\nthree", 9), "one\ntwo\n…");
        assert_eq!(cut("one", 3), "one");
        assert_eq!(cut("a\nlong line", 7), "a\nlong \n…");
    }

    #[test]
    fn lark_refuses_with_a_code_in_the_body() {
        for (answer, is_taken) in [
            (r#"{"code":0,"msg":"success"}"#, true),
            (r#"{"StatusCode":0,"StatusMessage":"success"}"#, true),
            (r#"{"code":19024,"msg":"Key Words Not Found"}"#, false),
            ("ok", false),
            ("", false),
        ] {
            assert_eq!(Format::Lark.is_taken(answer.as_bytes()), is_taken, "{answer}");
            assert!(Format::Slack.is_taken(answer.as_bytes()));
        }
    }
}
