//! The compressions that barman-cloud writes: suffixes, first bytes, and decoding that never believes what it reads.
//!
//! A suffix is the only statement of the compression; there is never a Content-Encoding. WAL: `.gz .bz2 .xz .snappy .zst .lz4`;
//! base tars: `.gz .bz2 .snappy .lz4` (we read the other two as well).

use std::io::{self, BufRead, Read};

use super::damage::Damage;
use super::header::aws_chunked;
use super::lz4::Lz4Reader;

/// The window of a zstd stream that we are ready to hold: 2^27 bytes.
const ZSTD_WINDOW_LOG: u32 = 27;
/// The memory an xz stream may ask for. `xz -9` needs 65 MiB.
const XZ_MEMORY: u64 = 80 << 20;

/// How an object is compressed. Ordered by preference where one segment exists twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compression {
    /// Stored as it is.
    None,
    /// zstd frames.
    Zstd,
    /// lz4 frames.
    Lz4,
    /// The framed snappy stream.
    Snappy,
    /// gzip members.
    Gzip,
    /// xz streams.
    Xz,
    /// bzip2 streams.
    Bzip2,
}

impl Compression {
    /// All of them, in order.
    pub const ALL: [Self; 7] = [Self::None, Self::Zstd, Self::Lz4, Self::Snappy, Self::Gzip, Self::Xz, Self::Bzip2];

    /// What stands behind a segment's name, or behind `.tar`.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Gzip => ".gz",
            Self::Bzip2 => ".bz2",
            Self::Xz => ".xz",
            Self::Snappy => ".snappy",
            Self::Zstd => ".zst",
            Self::Lz4 => ".lz4",
        }
    }

    /// The compression of a suffix; `""` is none. Anything else is not barman's.
    pub fn of_suffix(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "" => Self::None,
            ".gz" => Self::Gzip,
            ".bz2" => Self::Bzip2,
            ".xz" => Self::Xz,
            ".snappy" => Self::Snappy,
            ".zst" => Self::Zstd,
            ".lz4" => Self::Lz4,
            _ => return None,
        })
    }

    /// The word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Snappy => "snappy",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
        }
    }

    /// The first bytes of every object of this kind.
    pub const fn magic(self) -> &'static [u8] {
        match self {
            Self::None => b"",
            Self::Gzip => b"\x1f\x8b\x08",
            Self::Bzip2 => b"BZh",
            Self::Xz => b"\xfd7zXZ\x00",
            Self::Snappy => b"\xff\x06\x00\x00sNaPpY",
            Self::Zstd => b"\x28\xb5\x2f\xfd",
            Self::Lz4 => b"\x04\x22\x4d\x18",
        }
    }

    /// How many bytes of an object to fetch so that [`Self::head`] can decode its first page header. Block formats give nothing
    /// before a whole block is there.
    pub const fn head_bytes(self) -> u64 {
        match self {
            Self::None => 512,
            Self::Gzip | Self::Xz => 4 << 10,
            Self::Snappy | Self::Lz4 => 80 << 10,
            Self::Zstd => 136 << 10,
            Self::Bzip2 => 1 << 20,
        }
    }

    /// Whether an object that starts so can be of this kind.
    pub fn check_magic(self, bytes: &[u8]) -> Result<(), Damage> {
        if bytes.is_empty() {
            return Err(Damage::Empty);
        }
        if aws_chunked(bytes) {
            return Err(Damage::ChunkFraming);
        }
        if bytes.starts_with(self.magic()) { Ok(()) } else { Err(Damage::wrong_format(self.as_str(), bytes)) }
    }

    /// A small text as it was before it was compressed: a history. At most one byte more than allowed comes back, so that its
    /// parser sees that there is more.
    pub fn small(self, bytes: &[u8], most: u64) -> Result<Vec<u8>, Damage> {
        self.check_magic(bytes)?;
        let broken = |error: io::Error| Damage::Broken { why: error.to_string() };
        let mut plain = Vec::new();
        self.borrowed(bytes).map_err(broken)?.take(most.saturating_add(1)).read_to_end(&mut plain).map_err(broken)?;
        Ok(plain)
    }

    /// Decodes a stream: a base tar. All members, frames and streams of it, with bounded memory. An input that breaks off is an error
    /// for every format but snappy, which can end at any chunk: whoever reads the tar must insist on the tar's own end.
    pub fn reader(self, input: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        self.borrowed(input)
    }

    fn borrowed<'a>(self, input: impl BufRead + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
        Ok(match self {
            Self::None => Box::new(input),
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
            Self::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
            Self::Xz => {
                let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, liblzma::stream::CONCATENATED)?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(input, stream))
            }
            Self::Snappy => Box::new(snap::read::FrameDecoder::new(input)),
            Self::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Box::new(decoder)
            }
            Self::Lz4 => Box::new(Lz4Reader::new(input)),
        })
    }

    /// Decodes one WAL segment to exactly `size` bytes. Allocates `size` bytes, never more on account of what the input claims.
    pub fn whole_segment(self, bytes: &[u8], size: usize) -> Result<Vec<u8>, Damage> {
        self.check_magic(bytes)?;
        match self {
            Self::None => exact_copy(bytes, size),
            Self::Gzip => gunzip_whole(bytes, size),
            Self::Zstd => unzstd_whole(bytes, size),
            Self::Bzip2 | Self::Xz | Self::Snappy | Self::Lz4 => self.stream_whole(bytes, size),
        }
    }

    fn stream_whole(self, bytes: &[u8], size: usize) -> Result<Vec<u8>, Damage> {
        let mut reader = self.borrowed(bytes).map_err(|error| Damage::Broken { why: error.to_string() })?;
        let mut out = Vec::with_capacity(size);
        let outcome = reader.by_ref().take(size as u64).read_to_end(&mut out);
        outcome.map_err(|error| stream_damage(&error, out.len(), size))?;
        if out.len() < size {
            return Err(Damage::TooShort { got: out.len() as u64, wanted: size as u64 });
        }
        // The end must come now; asking for it also lets the decoder check its checksums.
        let mut beyond = [0_u8; 1];
        match reader.read(&mut beyond) {
            Ok(0) => Ok(out),
            Ok(_) => Err(Damage::TooLong { wanted: size as u64 }),
            Err(error) => Err(stream_damage(&error, out.len(), size)),
        }
    }

    /// Decodes the first `want` bytes from the beginning of an object. Fewer come back when the part given holds no more.
    pub fn head(self, bytes: &[u8], want: usize) -> Result<Vec<u8>, Damage> {
        self.check_magic(bytes)?;
        let mut out = Vec::with_capacity(want.min(64 << 10));
        let mut reader = self.borrowed(bytes).map_err(|error| Damage::Broken { why: error.to_string() })?;
        let mut buffer = [0_u8; 4096];
        while out.len() < want {
            let room = (want - out.len()).min(buffer.len());
            let Some(slot) = buffer.get_mut(..room) else { break };
            match reader.read(slot) {
                Ok(0) => break,
                Ok(count) => out.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) if out.is_empty() => return Err(stream_damage(&error, 0, want)),
                Err(_) => break,
            }
        }
        if out.is_empty() { Err(Damage::NeedMore { given: bytes.len() as u64 }) } else { Ok(out) }
    }
}

fn exact_copy(bytes: &[u8], size: usize) -> Result<Vec<u8>, Damage> {
    if bytes.len() < size {
        return Err(Damage::TooShort { got: bytes.len() as u64, wanted: size as u64 });
    }
    if bytes.len() > size {
        return Err(Damage::TooLong { wanted: size as u64 });
    }
    Ok(bytes.to_vec())
}

fn stream_damage(error: &io::Error, got: usize, wanted: usize) -> Damage {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return Damage::CutOff { got: got as u64, wanted: wanted as u64 };
    }
    Damage::Broken { why: error.to_string() }
}

/// libdeflate decodes one member, checks its CRC, and says nothing of what follows; so the trailer must be the last 8 bytes, and must
/// not occur before. Where anything is unusual, the streaming decoder decides.
fn gunzip_whole(bytes: &[u8], size: usize) -> Result<Vec<u8>, Damage> {
    let mut out = vec![0_u8; size];
    match libdeflater::Decompressor::new().gzip_decompress(bytes, &mut out) {
        Ok(count) if count == size && ends_with_its_trailer(bytes, &out) => Ok(out),
        _ => {
            drop(out);
            Compression::gunzip_slowly(bytes, size)
        }
    }
}

fn ends_with_its_trailer(bytes: &[u8], out: &[u8]) -> bool {
    let Some((body, trailer)) = bytes.split_last_chunk::<8>() else { return false };
    let Ok(length) = u32::try_from(out.len()) else { return false };
    let [c0, c1, c2, c3, l0, l1, l2, l3] = *trailer;
    // The CRC was checked by libdeflate against the trailer it found. If these 8 bytes are another copy of it, the first one
    // lies in the body.
    u32::from_le_bytes([l0, l1, l2, l3]) == length
        && u32::from_le_bytes([c0, c1, c2, c3]) == libdeflater_crc(out)
        && !contains(body, *trailer)
}

fn libdeflater_crc(out: &[u8]) -> u32 {
    let mut crc = libdeflater::Crc::new();
    crc.update(out);
    crc.sum()
}

/// Whether `needle` occurs; written so that the common "no" is decided block by block.
#[expect(clippy::needless_bitwise_bool, reason = "without branches the compiler compares many bytes at once")]
fn contains(hay: &[u8], needle: [u8; 8]) -> bool {
    let [a, b, ..] = needle;
    let mut from = 0;
    while let Some(block) = hay.get(from..hay.len().min(from + 4097)) {
        if block.len() < 2 {
            return false;
        }
        let pairs = block.iter().zip(block.iter().skip(1));
        let hit = pairs.fold(false, |hit, (first, second)| hit | ((*first == a) & (*second == b)));
        if hit {
            let wide = hay.get(from..hay.len().min(from + 4097 + 8)).unwrap_or_default();
            if wide.windows(8).any(|window| *window == needle) {
                return true;
            }
        }
        from += 4096;
    }
    false
}

impl Compression {
    /// gzip by the streaming decoder, which knows where the member ends: slower, with exact words.
    fn gunzip_slowly(bytes: &[u8], size: usize) -> Result<Vec<u8>, Damage> {
        let mut rest = bytes;
        let mut out = Vec::with_capacity(size);
        let mut decoder = flate2::bufread::GzDecoder::new(&mut rest);
        let outcome = decoder.by_ref().take(size as u64).read_to_end(&mut out);
        outcome.map_err(|error| stream_damage(&error, out.len(), size))?;
        if out.len() < size {
            return Err(Damage::TooShort { got: out.len() as u64, wanted: size as u64 });
        }
        let mut beyond = [0_u8; 1];
        match decoder.read(&mut beyond) {
            Ok(0) => {}
            Ok(_) => return Err(Damage::TooLong { wanted: size as u64 }),
            Err(error) => return Err(stream_damage(&error, out.len(), size)),
        }
        drop(decoder);
        if rest.is_empty() { Ok(out) } else { Err(Damage::TrailingBytes { count: rest.len() as u64 }) }
    }
}

/// The bulk decoder writes straight into our buffer, so no window has to be held, whatever the frame asks for.
fn unzstd_whole(bytes: &[u8], size: usize) -> Result<Vec<u8>, Damage> {
    let broken = |error: io::Error| Damage::Broken { why: error.to_string() };
    let mut decoder = zstd::bulk::Decompressor::new().map_err(broken)?;
    let mut out = Vec::with_capacity(size);
    match decoder.decompress_to_buffer(bytes, &mut out) {
        Ok(count) if count == size => Ok(out),
        Ok(count) => Err(Damage::TooShort { got: count as u64, wanted: size as u64 }),
        // The bulk decoder names neither a cut nor a surplus: the streaming one does, with bounded memory.
        Err(_) => match Compression::Zstd.stream_whole(bytes, size) {
            Ok(_) => Err(Damage::Broken { why: "the two decoders disagree".to_owned() }),
            Err(damage) => Err(damage),
        },
    }
}
