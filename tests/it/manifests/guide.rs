//! docs/guide/manifests.md: every block of commands is run as it stands.

use crate::chart::guide::{Reader, blocks, page};

#[test]
fn the_guide_to_manifests_holds_word_for_word() {
    let reader = Reader::new();
    let within = |name: &str| {
        let folder = reader.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    };
    for environment in ["prod", "dev"] {
        std::fs::write(within("rendered").join(format!("{environment}.yaml")), super::healthy(environment, "keycloak-db"))
            .unwrap();
    }
    let mut ran = 0;
    for (language, text) in blocks(&page("manifests.md")).into_iter().filter(|(language, _)| language == "sh") {
        let (exit, said) = reader.run(&text, reader.path().to_owned());
        assert_eq!(exit, 0, "{language}: {text}\n{said}");
        ran += 1;
    }
    assert!(ran >= 2, "{ran}");
    assert!(reader.path().join("report.xml").exists());
}
