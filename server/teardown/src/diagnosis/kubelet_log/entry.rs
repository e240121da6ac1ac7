//! The entries of a log: lines without the journal's prefix, put together where an entry has several, in the text and in
//! the JSON format of `k8s.io/component-base/logs`.

use std::str::Chars;

use jiff::Timestamp;
use serde_json::Value;

use super::LONGEST_ENTRY;

/// The longest part of a line in which the journal's prefix is looked for, in bytes.
const PREFIX: usize = 256;

/// An entry of the kubelet's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// The message, with all lines.
    pub(super) message: String,
    /// The value of `err` or `error`.
    pub(super) error: String,
    /// `namespace/name` of the Pod.
    pub(super) pod: String,
    /// The UID of the Pod.
    pub(super) uid: String,
}

/// The entries of a text, oldest first.
pub(super) fn entries(text: &str) -> impl Iterator<Item = Entry> {
    let mut lines = text.lines().map(clean).flat_map(of_journal).peekable();
    std::iter::from_fn(move || {
        let mut first = None;
        for line in lines.by_ref() {
            if let Some(start) = Start::of(body(&line)) {
                first = Some(start);
                break;
            }
        }
        match first? {
            Start::Json(entry) => Some(entry),
            Start::Text(mut written) => {
                while let Some(line) = lines.next_if(|line| Start::of(body(line)).is_none()) {
                    if written.len() + line.len() < LONGEST_ENTRY && is_of_kubelet(&line) {
                        written.push('\n');
                        written.push_str(body(&line));
                    }
                }
                Some(from_text(&written))
            }
        }
    })
}

/// The most lines by whose times the order of a text is recognised.
const LINES: usize = 200;

/// Whether the text has the newest line first: whether the times of its entries go down more often than up. One step against the
/// order may be the turn of the year, which klog does not write. Of a single entry, the first line comes last.
pub(super) fn is_newest_first(text: &str) -> bool {
    let first = |line| of_journal(line).into_iter().next().unwrap_or_default();
    let lines: Vec<String> = text.lines().take(LINES).map(clean).map(first).collect();
    let lines: Vec<Option<&str>> = lines.iter().map(|line| time_of(body(line))).collect();
    let times: Vec<&str> = lines.iter().copied().flatten().collect();
    if times.len() == 1 {
        return lines.len() > 1 && lines.last().is_some_and(Option::is_some);
    }
    let (mut up, mut down) = (0, 0);
    for (one, next) in times.iter().zip(times.iter().skip(1)) {
        up += usize::from(one < next);
        down += usize::from(one > next);
    }
    down > up
}

/// The time in the header of klog, as it is written: `1125 02:38:27.448531`, or the seconds of `{"ts":1795574558959.2722,…`.
fn time_of(body: &str) -> Option<&str> {
    if let Some(rest) = body.strip_prefix("{\"ts\":") {
        return rest.split_once([',', '.']).map(|(seconds, _)| seconds);
    }
    let time = body.strip_prefix(['I', 'W', 'E', 'F'])?.get(..20)?;
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, ' ' | ':' | '.');
    time.chars().all(is_part).then_some(time)
}

/// The first line of an entry.
enum Start {
    Json(Entry),
    /// The text after the header of klog.
    Text(String),
}

impl Start {
    fn of(body: &str) -> Option<Self> {
        let body = body.trim_start();
        if body.starts_with('{') {
            let Value::Object(fields) = serde_json::from_str(body).ok()? else { return None };
            return fields.contains_key("msg").then(|| Self::Json(from_json(&fields)));
        }
        after_header(body).map(|rest| Self::Text(rest.to_owned()))
    }
}

/// The line without escape sequences of a terminal and other control characters, and no longer than an entry.
fn clean(line: &str) -> String {
    let mut cleaned = String::with_capacity(line.len().min(LONGEST_ENTRY));
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if cleaned.len() >= LONGEST_ENTRY {
            break;
        }
        if character == '\u{1b}' {
            // A sequence ends with a letter: `ESC [ 0 1 ; 3 1 m`.
            characters.by_ref().take(16).find(char::is_ascii_alphabetic);
        } else if character == '\t' {
            cleaned.push(' ');
        } else if !character.is_control() && character != '\u{feff}' {
            cleaned.push(character);
        }
    }
    cleaned
}

/// The lines of a program that a line of the text stands for: `journalctl --output=json` has each in a field of an object, as text or
/// as bytes (systemd's Journal Export Formats). They get their program's name in front, as in the other formats.
fn of_journal(line: String) -> Vec<String> {
    let Some((program, message)) = message_of(body(&line).trim_start()) else { return vec![line] };
    let is_name = |name: &str| !name.is_empty() && !name.contains([' ', '[', ']']);
    let prefix = program.filter(|name| is_name(name)).map(|name| format!("{name}[0]: "));
    let prefix = prefix.unwrap_or_default();
    message.lines().map(|line| clean(&format!("{prefix}{line}"))).collect()
}

/// The program and the message of an object of the journal.
fn message_of(text: &str) -> Option<(Option<String>, String)> {
    if !text.starts_with('{') || !text.contains("\"MESSAGE\"") {
        return None;
    }
    let Value::Object(fields) = serde_json::from_str(text).ok()? else { return None };
    let message = match fields.get("MESSAGE")? {
        Value::String(message) => message.clone(),
        Value::Array(bytes) => {
            let byte = |it: &Value| it.as_u64().and_then(|it| u8::try_from(it).ok());
            let bytes: Option<Vec<u8>> = bytes.iter().map(byte).collect();
            String::from_utf8_lossy(&bytes?).into_owned()
        }
        _ => return None,
    };
    let program = fields.get("SYSLOG_IDENTIFIER").and_then(Value::as_str).map(str::to_owned);
    Some((program, message))
}

/// The line after the prefix of journald or syslog, `Nov 25 02:40:36 node-1 kubelet[30004]: …`, or after another one.
fn body(line: &str) -> &str {
    let rest = prefix_of(line).map_or_else(|| after_time(line), |(_, rest)| rest);
    after_any_prefix(rest).unwrap_or(rest)
}

/// The severities in front of a time.
const SEVERITIES: [&str; 6] = ["DEFAULT", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL"];
/// The words behind the time of a line of a container's log.
const STREAMS: [&str; 4] = ["stdout", "stderr", "F", "P"];

/// The line after a time that no program's name follows: `DEFAULT 2027-01-15T07:58:20.566467Z …` as a cloud's log has it,
/// `2027-01-15T07:58:20.566467Z stderr F …` as that of a container.
fn after_time(line: &str) -> &str {
    let (mut rest, mut is_timed) = (line, false);
    while let Some((word, after)) = rest.split_once(' ') {
        let is_time = word.starts_with(|c: char| c.is_ascii_digit())
            && word.contains('T')
            && word.parse::<Timestamp>().is_ok();
        let parts: &[&str] = if is_timed { &STREAMS } else { &SEVERITIES };
        if !is_time && !parts.contains(&word) {
            break;
        }
        is_timed |= is_time;
        rest = after;
    }
    if is_timed { rest } else { line }
}

/// The entry behind another prefix, such as the address of a node that `talosctl logs` puts in front, or a severity. Lines of an
/// entry that are set in are no prefix, and neither are quotations.
fn after_any_prefix(line: &str) -> Option<&str> {
    let is_start = |it: &str| it.starts_with("{\"ts\":") || after_header(it).is_some();
    if line.starts_with(' ') || is_start(line) {
        return None;
    }
    let head = line.get(..line.floor_char_boundary(PREFIX))?;
    let head = head.split('"').next().unwrap_or_default();
    head.match_indices(' ').filter_map(|(at, _)| line.get(at + 1..)).find(|it| is_start(it))
}

/// Whether the line has no prefix, or that of a program that contains a kubelet.
fn is_of_kubelet(line: &str) -> bool {
    let contains = |name: &str| {
        ["kubelet", "k3s", "rke2", "k0s", "microshift"].iter().any(|it| name.contains(it))
    };
    prefix_of(line).is_none_or(|(name, _)| contains(name))
}

/// The program that a prefix names, and the rest of the line.
fn prefix_of(line: &str) -> Option<(&str, &str)> {
    let mut from = 0;
    while let Some(found) = line.get(from..)?.find(": ") {
        let at = from + found;
        if at > PREFIX {
            return None;
        }
        let name = line.get(..at)?.rsplit(' ').next()?;
        let program = name.strip_suffix(']').and_then(|it| it.split_once('['));
        match program {
            Some((program, process)) if process.chars().all(|it| it.is_ascii_digit()) => {
                return Some((program, line.get(at + 2..)?));
            }
            _ if name == "kubelet" => return Some((name, line.get(at + 2..)?)),
            _ => from = at + 2,
        }
    }
    None
}

/// The text after the header of klog: `E1125 02:38:27.448531   30004 pod_workers.go:1338] …`.
fn after_header(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(['I', 'W', 'E', 'F'])?;
    let digits = rest.get(..4)?;
    let (header, rest) = rest.get(4..)?.split_once("] ")?;
    let is_header = digits.chars().all(|it| it.is_ascii_digit())
        && header.starts_with(' ')
        && header.len() < PREFIX
        && header.rsplit_once(':').is_some_and(|(_, line)| line.parse::<u32>().is_ok());
    is_header.then_some(rest)
}

/// The entry of a JSON object, whose escapes may stand for control characters.
fn from_json(fields: &serde_json::Map<String, Value>) -> Entry {
    let written = |it: Option<&Value>| -> String {
        it.and_then(Value::as_str).unwrap_or_default().chars().filter(is_text).collect()
    };
    let text = |name: &str| written(fields.get(name));
    let pod = match fields.get("pod") {
        Some(Value::String(_)) => text("pod"),
        Some(pod) => {
            let part = |name: &str| written(pod.get(name));
            format!("{}/{}", part("namespace"), part("name"))
        }
        None => String::new(),
    };
    let error = if fields.contains_key("err") { text("err") } else { text("error") };
    Entry { message: text("msg"), error, pod, uid: text("podUID") }
}

/// The message of klog as text: as it is, or quoted and followed by `key="value"`.
fn from_text(written: &str) -> Entry {
    let Some((message, mut rest)) = quoted(written) else {
        return Entry { message: written.to_owned(), ..Entry::default() };
    };
    let mut entry = Entry { message, ..Entry::default() };
    while let Some((key, value)) = rest.trim_start().split_once('=') {
        let (value, after) = if let Some(found) = quoted(value) {
            found
        } else if let Some((lines, after)) =
            value.strip_prefix("<\n").and_then(|value| value.split_once("\n >"))
        {
            (lines.to_owned(), after)
        } else {
            let end = value.find(' ').unwrap_or(value.len());
            let (value, after) = value.split_at(end);
            (value.to_owned(), after)
        };
        match key {
            "err" | "error" => entry.error = value,
            "pod" => entry.pod = value,
            "podUID" => entry.uid = value,
            _ => {}
        }
        rest = after;
    }
    entry
}

/// A text in double quotes as Go writes it with `%q` (`strconv.Quote`), without its control characters, and the rest after it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('"')?.chars();
    let mut read = String::new();
    loop {
        match rest.next()? {
            '"' => return Some((read, rest.as_str())),
            '\\' => read.extend(Some(unescaped(&mut rest)?).filter(is_text)),
            other => read.push(other),
        }
    }
}

fn is_text(character: &char) -> bool {
    !character.is_control() || matches!(character, '\n' | '\t')
}

/// The character after a backslash. A byte that is no UTF-8 has become `\xff`.
fn unescaped(rest: &mut Chars<'_>) -> Option<char> {
    let digits = match rest.next()? {
        'a' => return Some('\u{7}'),
        'b' => return Some('\u{8}'),
        'f' => return Some('\u{c}'),
        'n' => return Some('\n'),
        'r' => return Some('\r'),
        't' => return Some('\t'),
        'v' => return Some('\u{b}'),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        other => return Some(other),
    };
    let (code, after) = rest.as_str().split_at_checked(digits)?;
    *rest = after.chars();
    let code = u32::from_str_radix(code, 16).ok()?;
    let is_byte = digits == 2 && code > 0x7f;
    Some(char::from_u32(code).filter(|_| !is_byte).unwrap_or(char::REPLACEMENT_CHARACTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_go_quoted_is_read_as_it_was() {
        let read = |text| quoted(text).map(|(read, rest)| (read, rest.to_owned()));
        let written = r#""a\tb\r\"c\" \x1b[1m \u202e \U0001f4a5 \xff 占用" pod="x""#;
        let expected = "a\tb\"c\" [1m \u{202e} \u{1f4a5} \u{fffd} 占用";
        assert_eq!(read(written), Some((expected.to_owned(), " pod=\"x\"".to_owned())));
        for broken in ["\"a", "\"a\\", "\"\\x1", "\"\\u12", "\"\\xzz\"", "\"\\u12占\""] {
            assert_eq!(read(broken), None, "{broken}");
        }
    }

    #[test]
    fn control_characters_that_json_escapes_are_left_out() {
        let fields = serde_json::json!({"msg": "a\u{8}b", "err": "c\u{1b}[1m\n", "pod": {"namespace": "s\u{7}", "name": "p"}});
        let entry = from_json(fields.as_object().unwrap());
        assert_eq!((&*entry.message, &*entry.error, &*entry.pod), ("ab", "c[1m\n", "s/p"));
    }
}
