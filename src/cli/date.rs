//! Dates of the command line.

use chrono::NaiveDate;

/// A date as `--date` takes it: `YYYY-MM-DD`. A date in another order is refused with itself written right; where it can
/// be read in two ways, with both, since choosing would be guessing.
pub(super) fn read(text: &str) -> Result<NaiveDate, String> {
    let text = text.trim();
    let parts: Vec<&str> = text.split(['/', '.', '-', ' ']).collect();
    if let [year, month, day] = parts[..]
        && year.len() == 4
        && text.contains('-')
        && let Some(date) = date(year, month, day)
    {
        return Ok(date);
    }
    let meant = match parts[..] {
        [year, month, day] if year.len() == 4 => vec![date(year, month, day)],
        [first, second, year] if year.len() == 4 => vec![date(year, second, first), date(year, first, second)],
        [whole] if whole.len() == 8 && whole.is_ascii() => vec![date(&whole[..4], &whole[4..6], &whole[6..])],
        _ => Vec::new(),
    };
    let mut meant: Vec<String> = meant.into_iter().flatten().map(|date| date.to_string()).collect();
    meant.dedup();
    Err(if meant.is_empty() {
        "expected YYYY-MM-DD, such as 2026-11-27".to_owned()
    } else {
        format!("expected YYYY-MM-DD: {}", meant.join(" or "))
    })
}

fn date(year: &str, month: &str, day: &str) -> Option<NaiveDate> {
    let number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?;
    NaiveDate::from_ymd_opt(i32::try_from(number(year)?).ok()?, number(month)?, number(day)?)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_date_in_another_order_is_refused_with_itself_written_right() {
        assert_eq!(read("2026-11-27").unwrap().to_string(), "2026-11-27");
        for other in ["27/11/2026", "11/27/2026", "27.11.2026", "27-11-2026", "2026/11/27", "20261127"] {
            assert_eq!(read(other).unwrap_err(), "expected YYYY-MM-DD: 2026-11-27", "{other}");
        }
        assert_eq!(read("03/04/2026").unwrap_err(), "expected YYYY-MM-DD: 2026-04-03 or 2026-03-04");
        assert_eq!(read("04/04/2026").unwrap_err(), "expected YYYY-MM-DD: 2026-04-04");
        for none in ["yesterday", "2026-02-30", "31/02/2026", "", "2026-11", "+026-11-27", "١٢٣٤٥٦٧٨"] {
            assert_eq!(read(none).unwrap_err(), "expected YYYY-MM-DD, such as 2026-11-27", "{none}");
        }
    }
}
