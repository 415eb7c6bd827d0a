//! Quantities of Kubernetes: `10Gi`, `1500m`, `2e3`.
//! <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>

/// Bytes of a quantity, rounded up as Kubernetes does; `None` when it is none, or negative, or beyond all disks.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-'))).unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(end)?;
    let factor = match suffix {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        "Ti" => 1_099_511_627_776.0,
        "Pi" => 1_125_899_906_842_624.0,
        "Ei" => 1_152_921_504_606_846_976.0,
        _ => 10_f64.powi(suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
    };
    whole((number.parse::<f64>().ok()? * factor).ceil())
}

/// A number of bytes that somebody measured.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked in the line before")]
pub(super) fn whole(value: f64) -> Option<u64> {
    let fits = value.is_finite() && (0.0..18_446_744_073_709_549_568.0).contains(&value);
    if fits { Some(value as u64) } else { None }
}
