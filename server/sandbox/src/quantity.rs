//! Quantities of resources, as `k8s.io/apimachinery/pkg/api/resource` reads, adds and writes them.
//!
//! No crate writes quantities in Kubernetes' canonical form. `kube_quantity` 0.9 keeps the suffix as it was given
//! (`1000m` and `1024Ki` stay, where Kubernetes stores `1` and `1Mi`) and writes fractions (`0.5`, where Kubernetes
//! writes `500m`). It loses the format of `1e3`, does not round below a billionth or cap at 2^63-1
//! (`9223372036854775807` becomes `9223372036854775808`), and cannot read `Ei`. `k8s_quantity_parser` 0.1 only converts
//! to whole bytes.

use std::{cmp::Ordering, fmt};

use serde_json::{Value, json};

/// The number of smallest units, billionths, in one.
const NANO: i128 = 1_000_000_000;
/// `maxAllowed`: a larger amount counts as this one.
const LARGEST: i128 = i64::MAX as i128 * NANO;
/// The number of digits that are kept while reading. An amount with more digits before the point is above the maximum.
const DIGITS: usize = 19;
const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY: [(&str, u32); 6] =
    [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// The format in which an amount is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// `12e6`
    DecimalExponent,
    /// `12M`
    DecimalSi,
    /// `12Mi`
    BinarySi,
}

/// An amount. Two amounts are equal whatever their formats.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    nano: i128,
    format: Format,
}

/// The reason why a text is not a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

impl Quantity {
    pub const ZERO: Self = Self { nano: 0, format: Format::DecimalSi };

    /// A count of objects.
    #[must_use]
    pub fn of(count: usize) -> Self {
        let nano = i128::try_from(count).unwrap_or(LARGEST).saturating_mul(NANO).min(LARGEST);
        Self { nano, ..Self::ZERO }
    }

    /// Reads a quantity from JSON: a string or a number; null is zero.
    ///
    /// # Errors
    ///
    /// If the value is of another type, or is not a quantity.
    pub fn from_value(value: &Value) -> Result<Self, QuantityError> {
        match value {
            Value::Null => Ok(Self::ZERO),
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => Err(QuantityError::Format),
        }
    }

    /// Reads a quantity (`ParseQuantity`). Parts of a billionth are rounded away from zero.
    ///
    /// # Errors
    ///
    /// If the text is not a quantity.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, rest) = rest.split_at(digits(rest));
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits(rest)),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(QuantityError::Format);
        }
        let (power, bits, format) = scale(suffix)?;
        let nano = amount(whole, fraction, power, bits);
        Ok(Self { nano: if negative { -nano } else { nano }, format })
    }

    #[must_use]
    pub fn is_zero(self) -> bool {
        self.nano == 0
    }

    #[must_use]
    pub fn is_negative(self) -> bool {
        self.nano < 0
    }

    /// Whether the amount has no fraction.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.nano % NANO == 0
    }

    /// The sum. Zero takes the format of the other amount.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let format = if self.is_zero() { other.format } else { self.format };
        Self { nano: (self.nano + other.nano).clamp(-LARGEST, LARGEST), format }
    }

    /// The difference, and zero where the other amount is larger.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        let format = if self.is_zero() { other.format } else { self.format };
        Self { nano: (self.nano - other.nano).clamp(0, LARGEST), format }
    }

    /// The next whole amount, away from zero.
    #[must_use]
    pub fn rounded_up(self) -> Self {
        let part = self.nano % NANO;
        let up = match part.signum() {
            0 => 0,
            sign => sign * NANO - part,
        };
        Self { nano: self.nano + up, ..self }
    }

    /// The JSON value of this quantity in an object.
    #[must_use]
    pub fn to_value(self) -> Value {
        json!(self.to_string())
    }
}

/// The power of ten, the power of two and the format that a suffix stands for.
fn scale(suffix: &str) -> Result<(i32, u32, Format), QuantityError> {
    if let Some((_, power)) = DECIMAL.iter().find(|(one, _)| *one == suffix) {
        return Ok((*power, 0, Format::DecimalSi));
    }
    if let Some((_, bits)) = BINARY.iter().find(|(one, _)| *one == suffix) {
        return Ok((0, *bits, Format::BinarySi));
    }
    let letters = suffix.trim_start_matches(|one: char| "eEinumkKMGTP".contains(one));
    let digits = letters.strip_prefix(['+', '-']).unwrap_or(letters);
    if !digits.bytes().all(|one| one.is_ascii_digit()) {
        return Err(QuantityError::Format);
    }
    let exponent = suffix.strip_prefix(['e', 'E']).ok_or(QuantityError::Suffix)?;
    let power: i32 = exponent.parse().map_err(|_| QuantityError::Suffix)?;
    Ok((power, 0, Format::DecimalExponent))
}

/// `whole.fraction` × 10^power × 2^bits in billionths, rounded up.
fn amount(whole: &str, fraction: &str, power: i32, bits: u32) -> i128 {
    let whole = whole.trim_start_matches('0');
    let mut mantissa: i128 = 0;
    let (mut kept, mut rest) = (0, false);
    let mut power = power.saturating_add(9);
    for (at, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
        let digit = i128::from(digit - b'0');
        let behind = at >= whole.len();
        if kept < DIGITS {
            mantissa = mantissa * 10 + digit;
            kept += usize::from(mantissa > 0);
            power = power.saturating_sub(i32::from(behind));
        } else {
            rest |= digit > 0;
            power = power.saturating_add(i32::from(!behind));
        }
    }
    if mantissa == 0 {
        return 0;
    }
    let mantissa = mantissa << bits;
    let ten = |power: u32| 10_i128.checked_pow(power);
    let nano = if power >= 0 {
        ten(power.unsigned_abs()).and_then(|ten| mantissa.checked_mul(ten))
    } else {
        let down = ten(power.unsigned_abs());
        let left = down.is_none_or(|ten| mantissa % ten != 0) || rest;
        Some(down.map_or(0, |ten| mantissa / ten) + i128::from(left))
    };
    nano.map_or(LARGEST, |nano| nano.min(LARGEST))
}

impl fmt::Display for Quantity {
    /// The canonical form (`CanonicalizeBytes`): no fraction, and the largest suffix that allows it. Small and broken
    /// amounts are not written in powers of two.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nano, format } = *self;
        if nano == 0 {
            return write!(f, "0");
        }
        if format == Format::BinarySi && nano.abs() >= 1024 * NANO && self.is_whole() {
            let (mut number, mut suffix) = (nano / NANO, "");
            for (one, _) in BINARY {
                if number % 1024 != 0 {
                    break;
                }
                (number, suffix) = (number / 1024, one);
            }
            return write!(f, "{number}{suffix}");
        }
        let (mut number, mut power) = (nano, -9);
        while number % 1000 == 0 && power < 18 {
            (number, power) = (number / 1000, power + 3);
        }
        match format {
            Format::DecimalExponent if power != 0 => write!(f, "{number}e{power}"),
            _ => {
                let suffix = DECIMAL.iter().find(|(_, one)| *one == power);
                write!(f, "{number}{}", suffix.map_or("", |(suffix, _)| *suffix))
            }
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let shown = match Quantity::parse(text) {
            Ok(quantity) => quantity.to_string(),
            Err(error) => format!("{error:?}"),
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn quantities_that_kube_quantity_writes_otherwise_are_canonical() {
        for (text, expected) in [
            ("1000m", "1"),
            ("1024Ki", "1Mi"),
            ("0.5", "500m"),
            ("1e3", "1e3"),
            ("0.1n", "1n"),
            ("10Ei", "9223372036854775807"),
            ("9223372036854775807", "9223372036854775807"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn amounts_are_written_canonically() {
        for (text, expected) in [
            ("0", "0"),
            ("0Gi", "0"),
            ("1", "1"),
            ("+01.50", "1500m"),
            ("-.5", "-500m"),
            ("5.", "5"),
            ("1000m", "1"),
            ("12000", "12k"),
            ("1500", "1500"),
            ("1024", "1024"),
            ("1024Mi", "1Gi"),
            ("1500Mi", "1500Mi"),
            ("0.5Gi", "512Mi"),
            ("0.5Ki", "512"),
            ("1.3Ki", "1331200m"),
            ("1e3", "1e3"),
            ("1500e-3", "1500e-3"),
            ("1E", "1E"),
            ("1Ei", "1Ei"),
            ("0.1n", "1n"),
            ("1.0000000001", "1000000001n"),
            ("9223372036854775807", "9223372036854775807"),
            ("9223372036854775808", "9223372036854775807"),
            ("100E", "9223372036854775807"),
            ("1e99999", "9223372036854775807"),
            ("1e-99999", "1e-9"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn text_that_is_no_quantity_is_refused() {
        for text in ["", ".", "-", "m", "one", "1 Gi", "1mm!", "1KI", "1e1.5", "1e5k", "٣"] {
            check(text, "Format");
        }
        for text in ["1mm", "1ki", "1e", "1i", "1EE", "1e99999999999"] {
            check(text, "Suffix");
        }
        assert_eq!(Quantity::from_value(&json!(true)), Err(QuantityError::Format));
        assert_eq!(Quantity::from_value(&json!(1.5)).unwrap().to_string(), "1500m");
    }

    #[test]
    fn sum_keeps_the_format_of_its_first_amount() {
        let parse = |text| Quantity::parse(text).unwrap();
        assert_eq!(Quantity::ZERO.plus(parse("1Gi")).plus(parse("1024")).to_string(), "1048577Ki");
        assert_eq!(parse("1").less(parse("300m")).to_string(), "700m");
        assert_eq!(parse("1").less(parse("2")), Quantity::ZERO);
        assert!(parse("1Gi") > parse("1G") && parse("1k") == parse("1000"));
        assert_eq!(parse("1500m").rounded_up().to_string(), "2");
        assert_eq!(Quantity::of(3).to_string(), "3");
    }
}
