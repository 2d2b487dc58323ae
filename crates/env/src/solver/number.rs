//! Numbers as they are shown: the shortest text that reads back as the same number.

/// `3` for 3.0, `0.5` for 0.5, `inf` for infinity.
pub(crate) fn show(number: f64) -> String {
    if number == f64::INFINITY {
        return "inf".to_owned();
    }
    if number == f64::NEG_INFINITY {
        return "-inf".to_owned();
    }
    // `-0` would be another text for the same number.
    let number = if number == 0.0 { 0.0 } else { number };
    if number.abs() >= 1e15 || (number != 0.0 && number.abs() < 1e-6) {
        return format!("{number:e}");
    }
    number.to_string()
}

/// Rounded for people and models: at most six significant digits after the point.
pub(crate) fn show_rounded(number: f64) -> String {
    if !number.is_finite() || number.abs() >= 1e9 {
        return show(number);
    }
    let rounded = (number * 1e4).round() / 1e4;
    show(rounded)
}
