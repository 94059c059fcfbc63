//! JSON numbers as `serde_json`, and thus Hugging Face's tokenizers, read them.
//!
//! Without its feature `float_roundtrip`, serde_json reads the digits as one 64-bit integer and
//! drops digits that no longer fit. The integer is rounded to 53 bits, multiplied or divided by a
//! power of ten, and rounded again. The result can thus be a unit in the last place away from the
//! nearest double. Source: `parse_decimal`, `parse_long_integer`, `parse_exponent` and
//! `f64_from_parts` in serde_json's `src/de.rs`.

use crate::lock_free::Lazy;

/// Return the value that serde_json reads from a JSON number, or None if the number is too large.
pub fn read(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (digits, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent),
        None => (unsigned, "0"),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let (significand, dropped) = with_digits(0, whole);
    let (significand, dropped_behind) = with_digits(significand, fraction);
    let power = dropped as i32 - (fraction.len() - dropped_behind) as i32;
    let number = match exponent.parse::<i32>() {
        Ok(exponent) => from_parts(significand, power.saturating_add(exponent))?,
        Err(_) if significand == 0 || exponent.starts_with('-') => 0.0,
        Err(_) => return None,
    };
    Some(if text.len() > unsigned.len() {
        -number
    } else {
        number
    })
}

/// Append decimal digits to `number`. Return the result, and how many digits were dropped from the
/// first one on that did not fit.
fn with_digits(mut number: u64, digits: &str) -> (u64, usize) {
    for (place, digit) in digits.bytes().enumerate() {
        let digit = u64::from(digit - b'0');
        let longer = number
            .checked_mul(10)
            .and_then(|tens| tens.checked_add(digit));
        match longer {
            Some(longer) => number = longer,
            None => return (number, digits.len() - place),
        }
    }
    (number, 0)
}

fn from_parts(significand: u64, mut power: i32) -> Option<f64> {
    static POWERS: Lazy<Vec<f64>> = Lazy::new(|| {
        let power = |power| format!("1e{power}").parse().unwrap_or(f64::INFINITY);
        (0..=308).map(power).collect()
    });
    let mut number = significand as f64;
    loop {
        match POWERS.get(power.unsigned_abs() as usize) {
            Some(ten) if power >= 0 => number *= ten,
            Some(ten) => number /= ten,
            None if number == 0.0 => {}
            None if power >= 0 => return None,
            None => {
                number /= 1e308;
                power += 308;
                continue;
            }
        }
        return Some(number).filter(|number| number.is_finite());
    }
}

/// Return whether serde_json reads the shortest text of a number exactly.
pub fn is_read_well(number: f64) -> bool {
    is_read_as(number, &format!("{number:?}"))
}

fn is_read_as(number: f64, text: &str) -> bool {
    let same = |read: Option<f64>| read.map(f64::to_bits) == Some(number.to_bits());
    same(read(text)) && same(text.parse().ok())
}

/// Return a text that both [`read`] and exact parsers read as `number`, or None if none is found,
/// which happens for 2 scores in 1,000.
///
/// A 64-bit integer that 53 bits can represent, divided by a power of ten that they can represent
/// too, is read alike by both, because it is rounded once. So the function searches for such a
/// fraction that rounds to `number`.
pub fn written(number: f64) -> Option<String> {
    let sign = if number < 0.0 { "-" } else { "" };
    (1..=22).find_map(|places| {
        let near = number.abs() * 10f64.powi(places);
        let candidates = [near, near.next_up(), near.next_down()];
        candidates.into_iter().find_map(|candidate| {
            let whole = candidate.round();
            // The value that `read` would return, computed before the text is built.
            let read = (whole < u64::MAX as f64).then(|| from_parts(whole as u64, -places))?;
            if read != Some(number.abs()) {
                return None;
            }
            let digits = format!("{:0>1$}", whole as u64, places as usize + 1);
            let (before, behind) = digits.split_at(digits.len() - places as usize);
            Some(format!("{sign}{before}.{behind}")).filter(|text| is_read_as(number, text))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_serde_json_reads() {
        // Values from serde_json 1.0 with its default features.
        for (text, number) in [
            ("0", 0.0),
            ("-1.5", -1.5),
            ("1e3", 1000.0),
            ("2.5E-3", 0.0025),
            ("123456789012345678901234567890", 1.2345678901234567e29),
            ("18446744073709551616.25", 18_446_744_073_709_551_612.5),
            ("1e400", f64::NAN),
            ("1e99999999999", f64::NAN),
            ("1e-99999999999", 0.0),
            ("0e400", 0.0),
        ] {
            let expected = Some(number).filter(|number| !number.is_nan());
            assert_eq!(read(text), expected, "{text}");
        }
        assert_eq!(read("-0.0").map(f64::is_sign_negative), Some(true));
    }

    /// Return pseudo-random numbers between 0 and 1, from which the test derives scores.
    fn numbers() -> impl Iterator<Item = f64> {
        let mut state = 1u64;
        std::iter::from_fn(move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            Some((state >> 11) as f64 / (1u64 << 53) as f64)
        })
    }

    #[test]
    fn nearly_every_score_has_a_text_that_both_read() {
        let (mut misread, mut without) = (0, 0);
        for part in numbers().take(100_000) {
            for score in [-20.0 * part, -part, part.ln(), -1e-3 * part, -1000.0 * part] {
                if is_read_well(score) {
                    continue;
                }
                misread += 1;
                let Some(text) = written(score) else {
                    without += 1;
                    continue;
                };
                assert_eq!(read(&text).map(f64::to_bits), Some(score.to_bits()));
                assert_eq!(text.parse().ok().map(f64::to_bits), Some(score.to_bits()));
            }
        }
        // One score in ten is misread in its shortest form, and one in fifty of these has no text
        // that both read.
        assert!(misread > 40_000 && without < 1500, "{misread} {without}");
    }
}
