//! Finding codes: what is said has a row in the table, and no row stands there for nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dalsegno::domain::{CODES, code};
use syn::visit::Visit;

/// Words of the rooms that judge which look like codes and are none.
const NO_CODES: &[&str] = &["clean-up", "plugin-barman-cloud", "us-east-1"];

/// String literals of a file, those of attributes and documentation left out.
#[derive(Default)]
struct Texts {
    all: BTreeSet<String>,
    /// Those given as `code` of a finding.
    codes: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Texts {
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.all.insert(text.value());
    }

    /// What stands in `vec![…]`; words of other macros are talk.
    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        let list = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        if called.path.is_ident("vec")
            && let Ok(items) = called.parse_body_with(list)
        {
            let mut inside = Self::default();
            items.iter().for_each(|item| inside.visit_expr(item));
            self.all.append(&mut inside.all);
            self.codes.append(&mut inside.codes);
        }
    }

    fn visit_expr_struct(&mut self, made: &'ast syn::ExprStruct) {
        if made.path.segments.last().is_some_and(|name| name.ident == "Finding") {
            for field in &made.fields {
                if matches!(&field.member, syn::Member::Named(name) if name == "code") {
                    let mut inside = Self::default();
                    inside.visit_expr(&field.expr);
                    self.codes.extend(inside.all);
                }
            }
        }
        syn::visit::visit_expr_struct(self, made);
    }
}

fn texts(path: &Path) -> Texts {
    let file = syn::parse_file(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut texts = Texts::default();
    texts.visit_file(&file);
    texts
}

fn files(below: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(below);
    let all = walkdir::WalkDir::new(root).into_iter().filter_map(Result::ok).map(walkdir::DirEntry::into_path);
    all.filter(|path| path.extension().is_some_and(|found| found == "rs")).collect()
}

/// `wal-gap`: two words or more, lower case, joined by dashes.
fn looks_like_a_code(text: &str) -> bool {
    let word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    text.contains('-') && text.split('-').all(word)
}

#[test]
fn every_code_that_is_said_has_its_row() {
    for room in ["policy", "drill"] {
        for path in files(room) {
            for text in texts(&path).all {
                let fine = !looks_like_a_code(&text) || NO_CODES.contains(&text.as_str()) || code(&text).is_some();
                assert!(
                    fine,
                    "{}: \"{text}\" has no row in src/domain/code/ (if it is no code, say so in NO_CODES)",
                    path.display()
                );
            }
        }
    }
    let mut seen = 0;
    for path in files("") {
        for said in texts(&path).codes {
            seen += 1;
            assert!(code(&said).is_some(), "{}: the finding {said} has no row in src/domain/code/", path.display());
        }
    }
    assert!(seen >= 3, "findings are made outside of policy too, and {seen} were found");
}

#[test]
fn every_row_is_said_somewhere() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/domain/code");
    let said: BTreeSet<String> =
        files("").iter().filter(|path| !path.starts_with(&table)).flat_map(|path| texts(path).all).collect();
    let idle: Vec<&str> = CODES.iter().map(|row| row.code).filter(|code| !said.contains(*code)).collect();
    assert!(idle.is_empty(), "nobody says {}", idle.join(", "));
}
