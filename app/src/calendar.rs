//! Moments as text, UTC, as the server writes them. The library that the server does this with understands every zone,
//! and what it can say of a text it does not understand is large in the browser's half; here there is one form.

use jiff::Timestamp;

const DAY: i64 = 86_400;

/// `2026-11-21T12:03:41Z`; fractions of a second are read as far as nanoseconds.
pub fn parse(text: &str) -> Option<Timestamp> {
    let text = text.strip_suffix('Z')?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let number = |from: usize, to: usize| {
        let digits = whole.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i64>().ok())?
    };
    let marks: Vec<u8> =
        [4, 7, 10, 13, 16].iter().filter_map(|at| whole.as_bytes().get(*at).copied()).collect();
    if whole.len() != 19 || marks != *b"--T::" || fraction.len() > 9 {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
        || second > 59
    {
        return None;
    }
    let mut nanoseconds: i32 = 0;
    for place in 0..9 {
        let digit = fraction.as_bytes().get(place).copied().unwrap_or(b'0');
        nanoseconds =
            nanoseconds * 10 + i32::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
    }
    let seconds = days(year, month, day) * DAY + hour * 3_600 + minute * 60 + second;
    // Before 1970 both parts have the same sign.
    let (seconds, nanoseconds) = match (seconds, nanoseconds) {
        (..0, 1..) => (seconds + 1, nanoseconds - 1_000_000_000),
        whole => whole,
    };
    Timestamp::new(seconds, nanoseconds).ok()
}

/// `2026-11-21T12:03:41Z`, without fractions of a second.
pub fn written(at: Timestamp) -> String {
    let seconds = at.as_second() - i64::from(at.subsec_nanosecond() < 0);
    let (day, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = date(day);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

// Both ways: https://howardhinnant.github.io/date_algorithms.html, with years that begin in March and eras of 400 years.

/// Days since 1970.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of a day since 1970.
fn date(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "Z",
            "2026-11-21",
            "2026-11-21T12:03:41",
            "2026-11-21 12:03:41Z",
            "2026-13-21T12:03:41Z",
            "2026-11-21T24:03:41Z",
            "2026-11-21T12:03:41+01:00Z",
            "2026-11-21T12:03:4xZ",
            "2026-11-21T12:03:41.1x2Z",
            "2026-11-21T12:03:+1Z",
            "2026-11-21T12:03:41.0000000001Z",
            "éé26-11-21T12:03:41Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        // The years 0 to 9999, as the library has them.
        #[test]
        fn moments_are_what_the_library_says(second in -62_167_219_200_i64..253_402_200_000, nanosecond in 0_i32..1_000_000_000) {
            let fraction = if second < 0 { -nanosecond } else { nanosecond };
            let at = Timestamp::new(second, fraction).unwrap();
            prop_assert_eq!(parse(&at.to_string()), Some(at));
            let whole = Timestamp::from_second(second).unwrap();
            prop_assert_eq!(written(whole), whole.to_string());
            prop_assert_eq!(&written(at)[..19], &at.to_string()[..19]);
        }

        #[test]
        fn no_text_is_too_strange(text: String) {
            let _ = parse(&text);
        }
    }
}
