//! A volume that can really be full, and that nobody leaves behind.

use std::io::Write;

use lab::volume::{Kind, need, sweep};

fn mounted(path: &std::path::Path) -> bool {
    std::fs::read_to_string("/proc/self/mounts").unwrap().contains(&format!(" {} ", path.display()))
}

#[test]
fn a_volume_fills_up_for_real_grows_and_is_gone_when_dropped() {
    let Some(volume) = need("lab::volume", Kind::Memory, 8 * 1024 * 1024) else { return };
    let path = volume.path().to_path_buf();
    assert!(mounted(&path));
    let space = volume.space().unwrap();
    assert_eq!(space.capacity, 8 * 1024 * 1024);
    let mut file = std::fs::File::create(path.join("fill")).unwrap();
    let chunk = vec![1u8; 1024 * 1024];
    let full = (0..9).find_map(|_| file.write_all(&chunk).err()).expect("it never was full");
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(volume.space().unwrap().available, 0);
    volume.resize(16 * 1024 * 1024).unwrap();
    file.write_all(&chunk).unwrap();
    drop(file);
    drop(volume);
    assert!(!mounted(&path) && !path.exists());
}

#[test]
fn what_a_dead_process_left_is_swept_and_what_a_living_one_has_is_not() {
    let Some(mine) = need("lab::volume", Kind::Memory, 1024 * 1024) else { return };
    // A folder as of a process that is gone: ids stop at 4,194,304.
    let left = std::env::temp_dir().join("dalsegno-lab-4999999/volume-1/at");
    std::fs::create_dir_all(&left).unwrap();
    let done = std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "dalsegno-lab"]).arg(&left).status();
    assert!(done.unwrap().success());
    sweep().unwrap();
    assert!(!mounted(&left) && !left.exists());
    assert!(mounted(mine.path()));
}
