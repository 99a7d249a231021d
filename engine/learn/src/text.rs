//! Numbers, times and names in the headers of logs.

/// The leading digits, and the rest; numbers too large are the largest.
pub fn digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    (length > 0).then(|| (parsed(digits).unwrap_or(u64::MAX), rest))
}

pub fn parsed<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Seconds with a fraction, in microseconds.
pub fn seconds_us(text: &[u8]) -> Option<i64> {
    let seconds: f64 = parsed(text)?;
    (0.0..1e12).contains(&seconds).then_some((seconds * 1e6) as i64)
}

/// `2026-11-25T02:34:50.171059Z`, with any offset, or `261125  2:34:50`, at the text's begin: microseconds since
/// 1970 in the log's clock, and the rest.
pub fn time_us(text: &[u8]) -> Option<(i64, &[u8])> {
    let (date, rest) = digits(text)?;
    let date = i64::try_from(date).ok()?;
    if let Some(rest) = rest.strip_prefix(b"-") {
        let (month, rest) = digits(rest)?;
        let (day, rest) = digits(rest.strip_prefix(b"-")?)?;
        let (clock_us, rest) = clock_us(rest.strip_prefix(b"T")?)?;
        let (offset_s, rest) = offset_s(rest)?;
        return Some((day_us(date, month, day)? + clock_us - offset_s * 1_000_000, rest));
    }
    let (clock_us, rest) = clock_us(rest.strip_prefix(b" ")?.trim_ascii_start())?;
    let (month, day) = (date / 100 % 100, date % 100);
    Some((day_us(2000 + date / 10_000, month as u64, day as u64)? + clock_us, rest))
}

/// `hh:mm:ss`, with a fraction or without.
fn clock_us(text: &[u8]) -> Option<(i64, &[u8])> {
    let (hours, rest) = digits(text)?;
    let (minutes, rest) = digits(rest.strip_prefix(b":")?)?;
    let seconds = rest.strip_prefix(b":")?;
    let length = seconds.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let (seconds, rest) = seconds.split_at(length);
    let within = hours < 24 && minutes < 60;
    let us = seconds_us(seconds).filter(|&us| within && us < 61_000_000)?;
    Some(((hours * 60 + minutes) as i64 * 60_000_000 + us, rest))
}

fn offset_s(text: &[u8]) -> Option<(i64, &[u8])> {
    let sign = match text.first() {
        Some(b'Z') => return Some((0, &text[1..])),
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return None,
    };
    let (hours, rest) = digits(&text[1..])?;
    let (minutes, rest) = digits(rest.strip_prefix(b":")?)?;
    (hours < 24 && minutes < 60).then_some((sign * (hours * 60 + minutes) as i64 * 60, rest))
}

/// A day's begin. Days from a civil date: Hinnant, chrono-compatible low-level date algorithms.
fn day_us(year: i64, month: u64, day: u64) -> Option<i64> {
    if !(1970..10_000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (month, day) = (month as i64, day as i64);
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468;
    Some(days * 86_400_000_000)
}
