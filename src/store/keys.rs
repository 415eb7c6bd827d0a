//! Keys in listings: asked for url-encoded, because XML cannot carry every byte, and decoded by us, because the SDK does not.

/// Why a key could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The bytes are no UTF-8, so no `String` can hold the key and no request can name it.
    #[error("is not UTF-8 after decoding")]
    NotUtf8,
    /// A percent sign without two hex digits behind it.
    #[error("has a broken percent escape")]
    BrokenEscape,
}

/// Decodes a key of a listing that was answered with `EncodingType` = `url`: `%XX`, and `+` for a space (as AWS, MinIO and the
/// SDKs of Amazon do; every store escapes a real plus sign).
pub fn decode(text: &str) -> Result<String, KeyError> {
    if !text.bytes().any(|byte| byte == b'%' || byte == b'+') {
        return Ok(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let high = rest.next().and_then(hex_digit).ok_or(KeyError::BrokenEscape)?;
                let low = rest.next().and_then(hex_digit).ok_or(KeyError::BrokenEscape)?;
                bytes.push(high << 4 | low);
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8(bytes).map_err(|_| KeyError::NotUtf8)
}

const fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// A key as it may be printed: control characters escaped, and not longer than a line of a terminal.
pub fn printable(key: &str) -> String {
    let mut text: String = key.chars().take(120).flat_map(char::escape_debug).collect();
    if key.chars().nth(120).is_some() {
        text.push('…');
    }
    text
}
