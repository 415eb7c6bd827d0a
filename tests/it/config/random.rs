use dalsegno::config::At;
use dalsegno::domain::Span;
use proptest::prelude::*;

use super::{GOOD, Site};

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let site = Site::new("");
        std::fs::write(&site.source()[0], bytes).unwrap();
        let _ = site.load();
        let _ = site.check();
    }

    #[test]
    fn no_text_that_looks_like_yaml_makes_it_panic(text in "([a-z&*!|>%@`\\[\\]{}:,#'\"\\- \n\t?~<$()0-9]{0,12}\n?){0,20}") {
        let site = Site::new(&text);
        let _ = site.load();
        let _ = site.check();
    }

    #[test]
    fn no_damage_to_a_good_file_makes_it_panic_or_lose_its_place(at in 0..GOOD.len(), with in "[\\[\\]{}:,#&*!'\" a-z0-9\n]{1,6}") {
        let mut text = GOOD.to_owned();
        text.insert_str(at, &with);
        let site = Site::new(&text);
        let _ = site.load();
        if let Err(errors) = site.check() {
            for mistake in errors.mistakes() {
                prop_assert!(matches!(&mistake.at, At::File { line, column, .. } if *line >= 1 && *column >= 1), "{mistake}");
                prop_assert!(!mistake.text.is_empty());
            }
        }
    }

    #[test]
    fn an_unknown_key_anywhere_is_named_with_its_very_place(line in 0_usize..12, key in "zz[a-z]{3,9}") {
        let mut lines: Vec<String> = GOOD.lines().map(str::to_owned).collect();
        let line = line.min(lines.len());
        // The new key stands as deep as the line that follows, or at the margin at the end.
        let indent = lines.get(line).map_or(0, |next| next.len() - next.trim_start().len());
        lines.insert(line, format!("{}{key}: 1", " ".repeat(indent)));
        let site = Site::new(&lines.join("\n"));
        let found = site.mistakes();
        let place = format!("c.yaml:{}:{}  ", line + 1, indent + 1);
        let is_name = |text: &str| text.starts_with("stores.zz") || text.starts_with("postgres.zz");
        // Below stores: and postgres: a key is a name, and its value is wrong instead.
        let named = found.iter().any(|text| text.starts_with(&place) && text.contains(&key) && text.contains("unknown key"))
            || found.iter().any(|text| text.contains(&key) && text.split("  ").nth(1).is_some_and(is_name));
        prop_assert!(named, "{place} {key}: {found:?}");
    }

    #[test]
    fn a_duration_that_is_printed_reads_back(millis in 0_u64..10_000_000_000_000) {
        let span = Span(std::time::Duration::from_millis(millis));
        prop_assert_eq!(span.to_string().parse::<Span>().unwrap(), span);
    }

    #[test]
    fn no_text_makes_the_duration_panic(text in ".{0,24}") {
        let _ = text.parse::<Span>();
    }
}
