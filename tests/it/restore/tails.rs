//! The end of the last segment, on pages made by hand: what may stand behind the last replayed record, and what may not.
#![allow(clippy::cast_possible_truncation, reason = "positions in four pages")]

use dalsegno::archive::{Lsn, TailFault, WAL_PAGE, check_tail};

const SEGMENT: u64 = 0x0300_0000;
const PAGES: u64 = 4;

/// Four pages; a record of `length` bytes begins at `at` and goes on as far as it must.
fn segment(at: u64, length: u32) -> Vec<Vec<u8>> {
    let size = WAL_PAGE as u64;
    let mut pages: Vec<Vec<u8>> = (0..PAGES)
        .map(|number| {
            let mut page = vec![7_u8; WAL_PAGE];
            page[0..2].copy_from_slice(&0xD110_u16.to_le_bytes());
            page[2..4].copy_from_slice(&(if number == 0 { 2_u16 } else { 0 }).to_le_bytes());
            page[8..16].copy_from_slice(&(SEGMENT + number * size).to_le_bytes());
            page
        })
        .collect();
    let (number, inside) = ((at - SEGMENT) / size, ((at - SEGMENT) % size) as usize);
    let page = &mut pages[number as usize];
    page[inside..inside + 4].copy_from_slice(&length.to_le_bytes());
    if inside + 16 <= WAL_PAGE {
        page[inside + 8..inside + 16].copy_from_slice(&(at - 64).to_le_bytes());
    }
    let mut left = u64::from(length).saturating_sub(size - inside as u64);
    for later in &mut pages[number as usize + 1..] {
        if left == 0 {
            break;
        }
        later[2..4].copy_from_slice(&1_u16.to_le_bytes());
        later[16..20].copy_from_slice(&(left as u32).to_le_bytes());
        left = left.saturating_sub(size - 24);
    }
    pages
}

fn held(pages: &[Vec<u8>], end: u64) -> Result<(), TailFault> {
    let mut page = |at: Lsn| pages.get(((at.0 - SEGMENT) / WAL_PAGE as u64) as usize).cloned();
    check_tail(Lsn(end), Lsn(SEGMENT + PAGES * WAL_PAGE as u64), &mut page)
}

#[test]
fn a_segment_that_is_used_up_or_switched_is_whole() {
    let until = SEGMENT + PAGES * WAL_PAGE as u64;
    assert_eq!(held(&[], until), Ok(()));
    assert_eq!(held(&[], until + 40), Ok(()));
}

#[test]
fn a_record_that_goes_on_in_the_next_segment_is_whole() {
    for at in [SEGMENT + 8192 + 1000, SEGMENT + 3 * 8192 + 8000, SEGMENT + 4 * 8192 - 8] {
        assert_eq!(held(&segment(at, 60_000), at), Ok(()), "{at:x}");
    }
    // Replay ends at the page's first byte, the record begins behind its header.
    assert_eq!(held(&segment(SEGMENT + 2 * 8192 + 24, 60_000), SEGMENT + 2 * 8192), Ok(()));
    assert_eq!(held(&segment(SEGMENT + 40, 60_000), SEGMENT), Ok(()));
}

#[test]
fn zeros_garbage_and_whole_records_that_were_not_replayed_are_not() {
    let at = SEGMENT + 8192 + 1000;
    assert!(matches!(held(&segment(at, 0), at), Err(TailFault::Zeros { .. })));
    assert!(matches!(held(&segment(at, 5), at), Err(TailFault::NoRecord { .. })));
    assert!(matches!(held(&segment(at, u32::MAX), at), Err(TailFault::NoRecord { .. })));
    assert!(matches!(held(&segment(at, 500), at), Err(TailFault::Damaged { length: 500, .. })));
    assert!(matches!(held(&segment(at, 9_000), at), Err(TailFault::Damaged { length: 9_000, .. })));
}

#[test]
fn an_unfinished_record_whose_later_pages_are_lost_is_not() {
    let at = SEGMENT + 8192 + 1000;
    for spoil in [
        |page: &mut Vec<u8>| page.fill(0),
        |page: &mut Vec<u8>| page[16] ^= 1,
        |page: &mut Vec<u8>| page[2] = 0,
        |page: &mut Vec<u8>| page[9] ^= 1,
    ] {
        let mut pages = segment(at, 60_000);
        spoil(&mut pages[3]);
        assert!(matches!(held(&pages, at), Err(TailFault::Torn { .. })));
    }
    let mut pages = segment(at, 60_000);
    pages.truncate(2);
    assert!(matches!(held(&pages, at), Err(TailFault::NoPage { .. })), "a page that is not at hand is no damage");
}
