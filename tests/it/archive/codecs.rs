use std::io::{Read, Write};

use dalsegno::archive::{
    Compression, Damage, HeaderError, Lsn, SegmentFault, SegmentSize, WalHeader, aws_chunked, check_segment,
};
use dalsegno::domain::SystemId;
use proptest::prelude::*;

use super::builder::name;

const SIZE: usize = 1 << 20;

/// Compresses as the libraries that barman uses do.
pub(super) fn compress(compression: Compression, plain: &[u8]) -> Vec<u8> {
    match compression {
        Compression::None => plain.to_vec(),
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Bzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Xz => {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Snappy => {
            let mut encoder = snap::write::FrameEncoder::new(Vec::new());
            encoder.write_all(plain).unwrap();
            encoder.into_inner().unwrap()
        }
        Compression::Zstd => zstd::stream::encode_all(plain, 3).unwrap(),
        Compression::Lz4 => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
    }
}

/// A segment of 1 MiB: a long header, noise, then zeros as after a forced switch.
pub(super) fn wal(noise: usize) -> Vec<u8> {
    let mut bytes = vec![0_u8; SIZE];
    bytes[..2].copy_from_slice(&0xD110_u16.to_le_bytes());
    bytes[2] = 2;
    bytes[4] = 1;
    bytes[8..16].copy_from_slice(&0x50_0000_u64.to_le_bytes());
    bytes[24..32].copy_from_slice(&42_u64.to_le_bytes());
    bytes[32..36].copy_from_slice(&(1_u32 << 20).to_le_bytes());
    bytes[36..40].copy_from_slice(&8192_u32.to_le_bytes());
    let mut state = 88_172_645_463_325_252_u64;
    for byte in bytes.iter_mut().skip(40).take(noise) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = u8::try_from(state & 0x3F).unwrap();
    }
    bytes
}

#[test]
fn every_compression_brings_a_segment_back() {
    let plain = wal(300_000);
    for compression in Compression::ALL {
        let stored = compress(compression, &plain);
        assert_eq!(compression.whole_segment(&stored, SIZE).unwrap(), plain, "{compression:?}");
        let want = usize::try_from(compression.head_bytes()).unwrap().min(stored.len());
        let head = match compression.head(&stored[..want], 40) {
            // A writer may choose larger blocks than usual: then more must be fetched, and the answer says so.
            Err(Damage::NeedMore { .. }) if compression == Compression::Lz4 => compression.head(&stored, 40).unwrap(),
            head => head.unwrap(),
        };
        assert_eq!(WalHeader::parse(&head).unwrap().system_id, SystemId(42), "{compression:?}");
        let mut streamed = Vec::new();
        compression.reader(std::io::Cursor::new(stored)).unwrap().read_to_end(&mut streamed).unwrap();
        assert_eq!(streamed, plain, "{compression:?}");
    }
}

#[test]
fn a_segment_of_another_length_is_damage_in_every_compression() {
    let plain = wal(30_000);
    for compression in Compression::ALL {
        let short = compress(compression, &plain[..SIZE - 1]);
        assert!(matches!(compression.whole_segment(&short, SIZE), Err(Damage::TooShort { .. })), "{compression:?}");
        let long = compress(compression, &[plain.as_slice(), b"x"].concat());
        assert!(matches!(compression.whole_segment(&long, SIZE), Err(Damage::TooLong { .. })), "{compression:?}");
        assert_eq!(compression.whole_segment(b"", SIZE), Err(Damage::Empty));
    }
}

#[test]
fn a_bomb_is_stopped_at_the_size_of_a_segment() {
    let zeros = vec![0_u8; 64 << 20];
    for compression in Compression::ALL.into_iter().filter(|compression| *compression != Compression::None) {
        let bomb = compress(compression, &zeros);
        assert!(bomb.len() < 4 << 20);
        assert_eq!(compression.whole_segment(&bomb, SIZE), Err(Damage::TooLong { wanted: SIZE as u64 }), "{compression:?}");
    }
}

#[test]
fn every_cut_is_seen() {
    let plain = wal(9_000);
    for compression in Compression::ALL {
        let stored = compress(compression, &plain);
        let cuts = (1..40).map(|back| stored.len() - back).chain((0..20).map(|part| stored.len() * part / 20));
        for cut in cuts {
            assert!(compression.whole_segment(&stored[..cut], SIZE).is_err(), "{compression:?} cut to {cut} of {}", stored.len());
        }
    }
}

#[test]
fn what_follows_the_stream_is_seen() {
    let plain = wal(9_000);
    for compression in Compression::ALL {
        let stored = compress(compression, &plain);
        let twice = [stored.as_slice(), stored.as_slice()].concat();
        assert!(compression.whole_segment(&twice, SIZE).is_err(), "{compression:?} twice");
        let trailer = stored[stored.len() - 8..].to_vec();
        for tail in [b"garbage".as_slice(), &[0], &trailer] {
            // xz allows zero padding in fours; one byte is not.
            let more = [stored.as_slice(), tail].concat();
            assert!(compression.whole_segment(&more, SIZE).is_err(), "{compression:?} with {tail:?}");
        }
    }
}

#[test]
fn a_wrong_suffix_and_chunk_framing_have_words_of_their_own() {
    let stored = compress(Compression::Gzip, &wal(100));
    assert!(matches!(Compression::Zstd.whole_segment(&stored, SIZE), Err(Damage::NotThisFormat { wanted: "zstd", .. })));
    let framed =
        [format!("{:x}\r\n", stored.len()).as_bytes(), &stored, b"\r\n0\r\nx-amz-checksum-crc32:QMgAMA==\r\n\r\n"].concat();
    for compression in Compression::ALL {
        assert_eq!(compression.whole_segment(&framed, SIZE), Err(Damage::ChunkFraming));
        assert_eq!(compression.head(&framed, 40), Err(Damage::ChunkFraming));
    }
    assert!(aws_chunked(b"10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n"));
    for twin in [&stored[..], &wal(0)[..], b"backup_label='START", b"\r\n", b"", b"123456789\r\n", b"abc"] {
        assert!(!aws_chunked(twin));
    }
}

#[test]
fn concatenated_members_of_a_base_tar_are_one_stream() {
    for compression in Compression::ALL {
        let two = [compress(compression, b"first "), compress(compression, b"second")].concat();
        let mut out = String::new();
        compression.reader(std::io::Cursor::new(two)).unwrap().read_to_string(&mut out).unwrap();
        assert_eq!(out, "first second", "{compression:?}");
    }
}

#[test]
fn a_cut_base_tar_is_an_error_where_the_format_has_an_end() {
    let plain = wal(200_000);
    for compression in Compression::ALL.into_iter().filter(|it| !matches!(it, Compression::None | Compression::Snappy)) {
        let stored = compress(compression, &plain);
        for cut in [1, 2, 3, 4, 5, 9, 1000] {
            let part = stored[..stored.len() - cut].to_vec();
            let outcome = compression.reader(std::io::Cursor::new(part)).unwrap().read_to_end(&mut Vec::new());
            assert!(outcome.is_err(), "{compression:?} without its last {cut} bytes");
        }
    }
}

#[test]
fn a_segment_is_held_against_its_name() {
    let size = SegmentSize::new(1 << 20).unwrap();
    let plain = wal(100);
    let right = name("000000010000000000000005");
    assert_eq!(check_segment(&plain, right, size, Some(SystemId(42))).unwrap().page_address, Lsn(0x50_0000));
    // The segment in which a timeline was left begins with the parent's pages.
    assert!(check_segment(&plain, name("000000020000000000000005"), size, None).is_ok());
    let fault = |name_text: &str, size, system| check_segment(&plain, name(name_text), size, system).unwrap_err();
    assert!(matches!(fault("000000010000000000000006", size, None), SegmentFault::Position { .. }));
    assert!(matches!(fault("000000010000000000000005", size, Some(SystemId(7))), SegmentFault::System { .. }));
    assert!(matches!(
        fault("000000010000000000000005", SegmentSize::DEFAULT, None),
        SegmentFault::Damage(Damage::TooShort { .. })
    ));
    let mut newer = plain.clone();
    newer[4] = 3;
    assert!(matches!(check_segment(&newer, right, size, None), Err(SegmentFault::Timeline { found: 3, wanted: 1 })));
    let zeros = vec![0; SIZE];
    assert_eq!(check_segment(&zeros, right, size, None), Err(SegmentFault::Header(HeaderError::Zeros)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_make_a_decoder_panic_or_exceed_the_size(bytes in proptest::collection::vec(any::<u8>(), 0..2000), which in 0_usize..7) {
        let compression = Compression::ALL[which];
        let with_magic = [compression.magic(), bytes.as_slice()].concat();
        for input in [&bytes, &with_magic] {
            if let Ok(out) = compression.whole_segment(input, 4096) {
                prop_assert_eq!(out.len(), 4096);
            }
            if let Ok(out) = compression.head(input, 512) {
                prop_assert!(out.len() <= 512);
            }
            let mut reader = compression.reader(std::io::Cursor::new(input.clone())).unwrap();
            let _ = reader.by_ref().take(1 << 20).read_to_end(&mut Vec::new());
        }
        let _ = WalHeader::parse(&bytes);
    }

    #[test]
    fn a_flipped_byte_never_gives_another_length(at in 0_usize..100_000, bit in 0_u8..8, which in 0_usize..7) {
        let compression = Compression::ALL[which];
        let plain = wal(5_000);
        let mut stored = compress(compression, &plain);
        let at = at % stored.len();
        stored[at] ^= 1 << bit;
        if let Ok(out) = compression.whole_segment(&stored, SIZE) {
            prop_assert_eq!(out.len(), SIZE);
            // gzip, bzip2, xz and snappy carry checksums over the content: what they let through is what was written.
            if matches!(compression, Compression::Gzip | Compression::Bzip2 | Compression::Xz | Compression::Snappy) {
                prop_assert!(out == plain);
            }
        }
    }
}
