//! A JSON text as a tree that borrows from it. Text is copied only where it is escaped, a name not at all; numbers are
//! whole, for the server writes no others.

use std::borrow::Cow;

/// How deep a text may be nested; the server's go to a dozen, and a hostile one must not end the stack.
const DEPTH: usize = 64;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// `null`, and whatever is absent.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Number(i64),
    /// A text.
    Text(Cow<'a, str>),
    /// `[…]`.
    List(Vec<Json<'a>>),
    /// `{…}`, in the order it was written.
    Map(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Reads a whole text; `None` where it is not JSON, or has a number that is not whole.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut parser = Parser { text, at: 0 };
        let value = parser.value(DEPTH)?;
        parser.space();
        (parser.at == text.len()).then_some(value)
    }

    /// The part of that name; [`Json::Null`] where there is none.
    pub fn get(&self, name: &str) -> &Self {
        let Self::Map(parts) = self else { return &Self::Null };
        parts.iter().find(|(key, _)| key == name).map_or(&Self::Null, |(_, value)| value)
    }

    /// The text, where it is one.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The values of a list.
    pub fn list(&self) -> Option<&[Self]> {
        if let Self::List(values) = self { Some(values) } else { None }
    }

    /// The names and values of a map.
    pub fn map(&self) -> Option<&[(Cow<'a, str>, Self)]> {
        if let Self::Map(parts) = self { Some(parts) } else { None }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Takes these characters, and only these.
    fn take(&mut self, word: &str) -> Option<()> {
        let found = self.text.get(self.at..)?.starts_with(word);
        self.at += word.len();
        found.then_some(())
    }

    /// Takes the byte if it is next, space aside.
    fn next_is(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Option<Json<'a>> {
        let depth = depth.checked_sub(1)?;
        self.space();
        match self.peek()? {
            b'n' => self.take("null").map(|()| Json::Null),
            b't' => self.take("true").map(|()| Json::Bool(true)),
            b'f' => self.take("false").map(|()| Json::Bool(false)),
            b'"' => self.string().map(Json::Text),
            b'[' => {
                self.at += 1;
                let mut values = Vec::new();
                if self.next_is(b']') {
                    return Some(Json::List(values));
                }
                loop {
                    values.push(self.value(depth)?);
                    if self.next_is(b']') {
                        return Some(Json::List(values));
                    }
                    self.next_is(b',').then_some(())?;
                }
            }
            b'{' => {
                self.at += 1;
                let mut parts = Vec::new();
                if self.next_is(b'}') {
                    return Some(Json::Map(parts));
                }
                loop {
                    self.space();
                    let name = self.string()?;
                    self.next_is(b':').then_some(())?;
                    parts.push((name, self.value(depth)?));
                    if self.next_is(b'}') {
                        return Some(Json::Map(parts));
                    }
                    self.next_is(b',').then_some(())?;
                }
            }
            _ => self.number(),
        }
    }

    fn number(&mut self) -> Option<Json<'a>> {
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let start = self.at;
        let mut number: i64 = 0;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            number = number.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
            self.at += 1;
        }
        let whole = self.at > start && !matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        whole.then_some(Json::Number(if negative { -number } else { number }))
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        self.take("\"")?;
        let mut text = Cow::Borrowed("");
        loop {
            let start = self.at;
            while !matches!(self.peek()?, b'"' | b'\\') {
                self.at += 1;
            }
            let plain = self.text.get(start..self.at)?;
            if text.is_empty() {
                text = Cow::Borrowed(plain)
            } else {
                text.to_mut().push_str(plain)
            }
            self.at += 1;
            if self.text.as_bytes().get(self.at - 1) == Some(&b'"') {
                return Some(text);
            }
            let escaped = self.escaped()?;
            text.to_mut().push(escaped);
        }
    }

    fn escaped(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        Some(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.unit()?;
                let code = match first {
                    0xd800..=0xdbff => {
                        self.take("\\u")?;
                        let second = self.unit()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                        0x1_0000 + ((first - 0xd800) << 10) + second
                    }
                    _ => first,
                };
                char::from_u32(code)?
            }
            _ => return None,
        })
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_that_json_has() {
        let text = r#" {"a":[1,-20, null,true,false,[],{}],"b\n":"x\u00e9\ud83d\ude00\"\\/y" } "#;
        let list = vec![
            Json::Number(1),
            Json::Number(-20),
            Json::Null,
            Json::Bool(true),
            Json::Bool(false),
            Json::List(Vec::new()),
            Json::Map(Vec::new()),
        ];
        let expected =
            vec![("a".into(), Json::List(list)), ("b\n".into(), Json::Text("xé😀\"\\/y".into()))];
        assert_eq!(Json::parse(text), Some(Json::Map(expected)));
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let deep = "[".repeat(100_000);
        for text in [
            "",
            "{",
            "[1",
            "[1 2]",
            "{\"a\" 1}",
            "{a:1}",
            "nul",
            "tru",
            "\"a",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\\u12\"",
            "1.5",
            "1e3",
            "-",
            "99999999999999999999",
            "1 1",
            "é",
            &deep,
        ] {
            assert_eq!(Json::parse(text), None, "{text:.20}");
        }
    }

    proptest! {
        #[test]
        fn whatever_the_server_writes_is_read_as_it_was(text: String, number: i64) {
            let written = serde_json::json!({ &text: [text, number] }).to_string();
            let parsed = Json::parse(&written);
            let list = Json::List(vec![Json::Text((&text).into()), Json::Number(number)]);
            prop_assume!(number != i64::MIN);
            prop_assert_eq!(parsed, Some(Json::Map(vec![((&text).into(), list)])));
        }

        #[test]
        fn no_text_is_too_strange(text: String) {
            let _ = Json::parse(&text);
        }
    }
}
