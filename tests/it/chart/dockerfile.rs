//! The Dockerfile, read as text: no image can be built where the tests run.

use super::render::root;

/// Instructions with their arguments, lines that go on joined.
fn instructions(text: &str) -> Vec<(String, String)> {
    let mut joined: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#') && !line.trim().is_empty()) {
        let bare = line.trim_end_matches('\\').trim().to_owned();
        match joined.last_mut().filter(|_| goes_on) {
            Some(last) => {
                last.push(' ');
                last.push_str(&bare);
            }
            None => joined.push(bare),
        }
        goes_on = line.ends_with('\\');
    }
    joined
        .into_iter()
        .map(|line| line.split_once(' ').map(|(word, rest)| (word.to_uppercase(), rest.to_owned())).unwrap())
        .collect()
}

/// What is wrong with a Dockerfile, in words.
fn complaints(text: &str) -> Vec<String> {
    let all = instructions(text);
    let mut found = Vec::new();
    let last = all.iter().rposition(|(word, _)| word == "FROM").unwrap_or(0);
    let (build, image) = all.split_at(last);
    let mut must = |holds: bool, what: &str| {
        if !holds {
            found.push(what.to_owned());
        }
    };
    must(image.first().is_some_and(|(_, of)| of == "scratch"), "the image is not empty: FROM scratch");
    let in_image =
        |word: &str| image.iter().filter(|(known, _)| known == word).map(|(_, rest)| rest.as_str()).collect::<Vec<_>>();
    let user = in_image("USER").pop().unwrap_or_default();
    let is_plain = user.split(':').all(|part| part.parse::<u32>().is_ok_and(|id| id > 0));
    must(is_plain, "USER is not a number other than 0: a cluster cannot see that a name is not root");
    must(in_image("RUN").is_empty(), "RUN in an empty image");
    must(in_image("ENTRYPOINT") == ["[\"/dalsegno\"]"], "ENTRYPOINT is not the program");
    must(in_image("CMD") == ["[\"run\", \"--exit\", \"work\"]"], "CMD is not a pass that ends with 0 when it worked");
    must(
        in_image("ENV").iter().any(|of| of.contains("SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt")),
        "no authorities are named",
    );
    let bases: Vec<&str> = build.iter().filter(|(word, _)| word == "FROM").map(|(_, of)| of.as_str()).collect();
    must(bases.iter().all(|of| of.starts_with("--platform=$BUILDPLATFORM ")), "a build stage is emulated");
    must(
        bases.iter().all(|of| !of.contains(":latest") && of.split(' ').nth(1).is_some_and(|name| name.contains(':'))),
        "a base is not pinned",
    );
    let run: String =
        build.iter().filter(|(word, _)| word == "RUN").map(|(_, rest)| rest.as_str()).collect::<Vec<_>>().join(" && ");
    for (part, what) in [
        ("--locked", "the lock file is not obeyed"),
        ("--release", "no release build"),
        ("xx-cargo build", "not built for the target"),
        ("xx-verify --static", "nobody looks whether it is static"),
        ("ca-certificates.crt /out/etc/ssl/certs/", "no authorities are brought along"),
        ("chmod 1777 /out/tmp", "/tmp is not everybody's"),
        ("kubectl-dalsegno", "no plug-in of kubectl"),
    ] {
        must(run.contains(part), what);
    }
    must(all.iter().any(|(word, rest)| word == "ARG" && rest == "TARGETPLATFORM"), "the target's platform is not asked for");
    found
}

#[test]
fn the_image_is_one_static_binary_that_is_nobody() {
    let text = std::fs::read_to_string(root().join("Dockerfile")).unwrap();
    assert_eq!(complaints(&text), Vec::<String>::new());
    let toolchain = std::fs::read_to_string(root().join("rust-toolchain.toml")).unwrap();
    let minor = toolchain.split('"').nth(1).unwrap().rsplit_once('.').unwrap().0.to_owned();
    assert!(
        text.contains(&format!("rust:{minor}-alpine")),
        "the build stage has another Rust than rust-toolchain.toml ({minor})"
    );
}

#[test]
fn each_lack_is_seen() {
    let text = std::fs::read_to_string(root().join("Dockerfile")).unwrap();
    for (from, to, word) in [
        ("FROM scratch", "FROM alpine:3", "not empty"),
        ("USER 65532:65532", "USER root", "USER"),
        ("USER 65532:65532", "USER 0", "USER"),
        ("--locked ", "", "lock file"),
        ("rust:1.95-alpine", "rust:latest", "pinned"),
        ("FROM --platform=$BUILDPLATFORM rust", "FROM rust", "emulated"),
        ("xx-verify --static", "true", "static"),
        ("ENV SSL_CERT_FILE", "ENV OTHER", "authorities"),
        ("CMD [\"run\", \"--exit\", \"work\"]", "CMD [\"run\"]", "CMD"),
    ] {
        assert!(text.contains(from), "{from}");
        let found = complaints(&text.replace(from, to));
        assert!(found.iter().any(|what| what.contains(word)), "{from} → {to}: {found:?}");
    }
}
