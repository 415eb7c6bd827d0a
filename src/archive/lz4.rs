//! LZ4 frames, strictly: lz4_flex takes a frame without its end mark, and bytes after the first frame, as a good end.
//!
//! [`FrameWatch`] follows the frame's structure while the decoder reads through it
//! (<https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md>), so that a cut is seen and a second frame is read.

use std::io::{self, BufRead, Read};

use lz4_flex::frame::FrameDecoder;

const MAGIC: u32 = 0x184D_2204;

/// What comes next in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// A magic number, or the end of the stream.
    Magic,
    /// FLG and BD.
    Flags,
    /// The rest of the header, of no interest.
    Header,
    /// The size of a block, or the end mark.
    BlockSize,
    /// A block's bytes.
    Block,
    /// The checksum of the content.
    ContentChecksum,
}

/// Passes bytes through and knows whether the stream may end here.
struct FrameWatch<R> {
    inner: R,
    next: Next,
    /// Bytes of the field still to come.
    left: u64,
    /// The bytes of a 4-byte (or 2-byte) field seen so far, little endian.
    word: u32,
    seen: u32,
    block_checksums: bool,
    content_checksum: bool,
}

impl<R> FrameWatch<R> {
    const fn new(inner: R) -> Self {
        Self { inner, next: Next::Magic, left: 4, word: 0, seen: 0, block_checksums: false, content_checksum: false }
    }

    const fn between_frames(&self) -> bool {
        matches!(self.next, Next::Magic) && self.left == 4
    }

    const fn expect(&mut self, next: Next, bytes: u64) {
        self.next = next;
        self.left = bytes;
        self.word = 0;
        self.seen = 0;
    }

    fn follow(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let take = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            let (field, rest) = bytes.split_at(take);
            if !matches!(self.next, Next::Block | Next::Header) {
                for byte in field {
                    self.word |= u32::from(*byte) << (8 * self.seen.min(3));
                    self.seen += 1;
                }
            }
            self.left -= take as u64;
            bytes = rest;
            if self.left == 0 {
                self.field_ended()?;
            }
        }
        Ok(())
    }

    fn field_ended(&mut self) -> io::Result<()> {
        let word = self.word;
        match self.next {
            Next::Magic if word == MAGIC => self.expect(Next::Flags, 2),
            Next::Magic => return Err(io::Error::new(io::ErrorKind::InvalidData, "bytes follow that are not an lz4 frame")),
            Next::Flags => {
                self.block_checksums = word & 0x10 != 0;
                self.content_checksum = word & 0x04 != 0;
                let content_size = if word & 0x08 != 0 { 8 } else { 0 };
                let dictionary = if word & 0x01 != 0 { 4 } else { 0 };
                self.expect(Next::Header, 1 + content_size + dictionary);
            }
            Next::Header | Next::Block => self.expect(Next::BlockSize, 4),
            Next::BlockSize if word == 0 && self.content_checksum => self.expect(Next::ContentChecksum, 4),
            Next::BlockSize if word == 0 => self.expect(Next::Magic, 4),
            Next::BlockSize => {
                let checksum = if self.block_checksums { 4 } else { 0 };
                self.expect(Next::Block, u64::from(word & 0x7FFF_FFFF) + checksum);
            }
            Next::ContentChecksum => self.expect(Next::Magic, 4),
        }
        Ok(())
    }
}

impl<R: Read> Read for FrameWatch<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if count == 0 && !buffer.is_empty() && !self.between_frames() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the lz4 frame is cut off"));
        }
        self.follow(buffer.get(..count).unwrap_or_default())?;
        Ok(count)
    }
}

/// Reads all frames of a stream, and insists on the end of each.
pub(super) struct Lz4Reader<R: BufRead> {
    decoder: FrameDecoder<FrameWatch<R>>,
}

impl<R: BufRead> Lz4Reader<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { decoder: FrameDecoder::new(FrameWatch::new(inner)) }
    }
}

impl<R: BufRead> Read for Lz4Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let count = self.decoder.read(buffer)?;
            if count > 0 {
                return Ok(count);
            }
            // The decoder stops after a frame. Either the stream ends here, or another frame follows.
            let watch = self.decoder.get_mut();
            if watch.inner.fill_buf()?.is_empty() {
                if watch.between_frames() {
                    return Ok(0);
                }
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the lz4 frame is cut off"));
            }
        }
    }
}
