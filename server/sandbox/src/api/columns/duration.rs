//! Ages, as `k8s.io/apimachinery/pkg/util/duration` prints them.

use jiff::Timestamp;
use serde_json::Value;

use crate::clock;

/// `HumanDuration` of the time since then.
pub(super) fn age(since: &Value, now: Timestamp) -> String {
    match clock::read(since) {
        Some(since) => between(since, now),
        None => "<unknown>".into(),
    }
}

pub(super) fn between(since: Timestamp, until: Timestamp) -> String {
    human(until.duration_since(since).as_secs())
}

/// `HumanDuration`.
pub(super) fn human(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let two = |big: i64, unit: &str, small: i64, rest: &str| match small {
        0 => format!("{big}{unit}"),
        _ => format!("{big}{unit}{small}{rest}"),
    };
    match seconds {
        ..=-2 => "<invalid>".into(),
        -1..=0 => "0s".into(),
        1..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_durations_are_less_precise() {
        let (minute, hour, day) = (60, 3_600, 86_400);
        for (seconds, expected) in [
            (i64::MIN, "<invalid>"),
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (2 * minute, "2m"),
            (10 * minute - 1, "9m59s"),
            (3 * hour - 1, "179m"),
            (3 * hour, "3h"),
            (8 * hour - 1, "7h59m"),
            (48 * hour - 1, "47h"),
            (8 * day - 1, "7d23h"),
            (730 * day - 1, "729d"),
            (731 * day, "2y1d"),
            (8 * 365 * day, "8y"),
            (9 * 365 * day - 1, "8y"),
        ] {
            assert_eq!(human(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn parts_of_a_second_are_left_out() {
        let time = |text: &str| -> Timestamp { text.parse().unwrap() };
        let now = time("2026-01-01T00:00:10.5Z");
        for (since, expected) in [
            ("2026-01-01T00:00:05.6Z", "4s"),
            ("2026-01-01T00:00:12Z", "0s"),
            ("2026-01-01T00:00:12.5Z", "<invalid>"),
        ] {
            assert_eq!(between(time(since), now), expected, "{since}");
        }
        for since in [Value::Null, Value::from("soon"), Value::from(1)] {
            assert_eq!(age(&since, now), "<unknown>");
        }
        assert!(between(Timestamp::MIN, Timestamp::MAX).ends_with('y'));
    }
}
