//! The schedule of a CronJob, as Kubernetes reads it: `cron.ParseStandard` of robfig/cron, five fields or a descriptor.
//!
//! No crate reads schedules as robfig/cron does. `croner` 4 comes closest: it accepts `L`, `W`, `#` and a field for
//! seconds, which Kubernetes refuses with 422; it refuses `5/15`, `?` in the field for minutes and `@midnight`, which
//! Kubernetes accepts; and it treats `*/2` as a restricted day of the month, so that `0 0 */2 * fri` also runs on other
//! days than Fridays. `cron` 0.17 and `cronexpr` 1.7 have the same extensions, and other fields or time zones of their
//! own.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The number of years for which a schedule is searched ahead. A schedule on 29 February has a time within them.
const YEARS: i64 = 8;

/// A parsed schedule. Each field is a set of bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schedule {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Day of month and day of week count as "either" only if both are restricted.
    either: bool,
}

impl Schedule {
    /// Reads `*/5 3 * * 1-5`, names of months and days, and the short forms such as `@hourly`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            text => text,
        };
        let mut fields = text.split_whitespace();
        let (minutes, hours) =
            (field(fields.next()?, 0, 59, &[])?, field(fields.next()?, 0, 23, &[])?);
        let (day, month, weekday) = (fields.next()?, fields.next()?, fields.next()?);
        if fields.next().is_some() {
            return None;
        }
        let month_names =
            ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
        let day_names = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
        let weekdays = field(weekday, 0, 7, &day_names)?;
        Some(Self {
            minutes,
            hours,
            days: field(day, 1, 31, &[])?,
            months: field(month, 1, 12, &month_names)?,
            // Both 0 and 7 are Sunday.
            weekdays: weekdays | (weekdays >> 7),
            either: !day.starts_with('*') && !weekday.starts_with('*'),
        })
    }

    /// The first time after another, in UTC.
    pub(crate) fn after(&self, at: Timestamp) -> Option<Timestamp> {
        let start = at.as_second().div_euclid(60) * 60 + 60;
        let mut at = Timestamp::from_second(start).ok()?.to_zoned(TimeZone::UTC);
        let last = i64::from(at.year()) + YEARS;
        while i64::from(at.year()) <= last {
            let date = at.date();
            let (month, day) = (self.months >> date.month() & 1, self.days >> date.day() & 1);
            let weekday = self.weekdays >> date.weekday().to_sunday_zero_offset() & 1;
            let fits = if self.either { day | weekday } else { day & weekday };
            if month & fits == 0 {
                at = date.tomorrow().ok()?.to_zoned(TimeZone::UTC).ok()?;
            } else if self.hours >> at.hour() & 1 == 0 {
                let minutes = 60 - i64::from(at.minute());
                at = at.checked_add(jiff::SignedDuration::from_mins(minutes)).ok()?;
            } else if self.minutes >> at.minute() & 1 == 0 {
                at = at.checked_add(jiff::SignedDuration::from_mins(1)).ok()?;
            } else {
                return Some(at.timestamp());
            }
        }
        None
    }
}

/// The error of robfig/cron for a text that is not a schedule.
pub(crate) fn parse_error(text: &str) -> Option<String> {
    // Kubernetes accepts `@every`; in the sandbox such a schedule never runs.
    if text.starts_with("@every ") || Schedule::parse(text).is_some() {
        return None;
    }
    let fields: Vec<_> = text.split_whitespace().collect();
    Some(match fields.len() {
        _ if text.starts_with('@') => format!("unrecognized descriptor: {text}"),
        5 => format!("failed to parse int from {text}"),
        found => format!("expected exactly 5 fields, found {found}: [{}]", fields.join(" ")),
    })
}

/// One field: a list of `*`, a value or a range, each with an optional step.
fn field(text: &str, least: u32, most: u32, names: &[&str]) -> Option<u64> {
    let value = |text: &str| {
        let named = names.iter().position(|it| it.eq_ignore_ascii_case(text));
        let value = match named {
            Some(at) => u32::try_from(at).ok()? + least,
            None => text.parse().ok()?,
        };
        (least..=most).contains(&value).then_some(value)
    };
    let mut bits = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<usize>().ok().filter(|it| *it > 0)?)),
            None => (part, None),
        };
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (value(from)?, value(to)?),
            None if range == "*" || range == "?" => (least, most),
            None => (value(range)?, if step.is_some() { most } else { value(range)? }),
        };
        for at in (from..=to).step_by(step.unwrap_or(1)) {
            bits |= 1 << at;
        }
    }
    Some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> Option<String> {
        let after = Schedule::parse(schedule)?.after(after.parse().unwrap());
        after.map(|it| it.to_string())
    }

    #[test]
    fn next_time_is_the_first_that_matches() {
        for (schedule, after, expected) in [
            ("*/5 * * * *", "2026-11-21T08:42:10Z", "2026-11-21T08:45:00Z"),
            ("0 3 * * *", "2026-11-21T08:42:10Z", "2026-11-22T03:00:00Z"),
            ("30 4 1 jan *", "2026-11-21T08:42:10Z", "2027-01-01T04:30:00Z"),
            ("0 0 * * 7", "2026-11-21T08:42:10Z", "2026-11-22T00:00:00Z"),
            ("0 0 13 * fri", "2026-11-21T08:42:10Z", "2026-11-27T00:00:00Z"),
            ("0 0 29 2 *", "2026-11-21T08:42:10Z", "2028-02-29T00:00:00Z"),
            ("@hourly", "2026-11-21T08:00:00Z", "2026-11-21T09:00:00Z"),
        ] {
            assert_eq!(next(schedule, after).as_deref(), Some(expected), "{schedule}");
        }
        for nonsense in
            ["", "* * * *", "60 * * * *", "*/0 * * * *", "a b c d e", "5-1-2 * * * *", "0 0 30 2 *"]
        {
            assert_eq!(next(nonsense, "2026-11-21T08:00:00Z"), None, "{nonsense}");
        }
    }

    /// Schedules that `croner` reads differently; see the module's documentation.
    #[test]
    fn extensions_are_refused_and_steps_are_read_as_robfig_cron_reads_them() {
        for extension in ["0 0 L * *", "0 0 15W * *", "0 0 * * 1#2", "* * * * * *"] {
            assert!(parse_error(extension).is_some(), "{extension}");
        }
        for (schedule, expected) in [
            ("5/15 * * * *", "2026-11-21T08:50:00Z"),
            ("? * * * *", "2026-11-21T08:43:00Z"),
            ("@midnight", "2026-11-22T00:00:00Z"),
            // A day of the month that begins with `*` does not widen the day of the week.
            ("0 0 */2 * fri", "2026-11-27T00:00:00Z"),
        ] {
            assert_eq!(parse_error(schedule), None, "{schedule}");
            let found = next(schedule, "2026-11-21T08:42:10Z");
            assert_eq!(found.as_deref(), Some(expected), "{schedule}");
        }
    }
}
