//! Texts that are no manifests, or hostile ones.

use super::{Site, healthy};

fn refused(site: &Site) -> String {
    let (exit, stdout, stderr) = site.dalsegno(&["check", "--manifests", "prod=out"]);
    assert_eq!((exit, stdout.as_str()), (2, ""), "{stderr}");
    stderr
}

#[test]
fn every_malformed_document_is_told_with_its_own_line() {
    let site = Site::new();
    site.put("out/a.yaml", &format!("{}---\nkind: [\n", healthy("prod/", "x")));
    site.put("out/sub/b.yml", "a: 1\n---\nb: {{ .Values.x }}: c\n");
    let told = refused(&site);
    assert!(told.contains("2 mistakes") && told.contains("a.yaml:4") && told.contains("b.yml:3"), "{told}");
    assert!(told.contains("hint: give what would be applied"), "{told}");
}

#[test]
fn bombs_depth_and_floods_end_at_the_limits() {
    let site = Site::new();
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n";
    for hostile in [bomb.to_owned(), format!("a: {}", "[".repeat(5000)), "\u{0}\u{1}".to_owned()] {
        site.put("out/all.yaml", &hostile);
        assert!(refused(&site).contains("all.yaml:"), "{hostile:.40}");
    }
}

#[test]
fn nothing_of_ours_a_second_object_and_an_unknown_version_are_errors_and_no_fine() {
    let site = Site::new();
    site.put("out/all.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: x}\n");
    assert!(refused(&site).contains("holds no Cluster"));
    site.put("out/all.yaml", &healthy("prod/", "x"));
    site.put("out/again.yaml", &healthy("prod/", "x"));
    let told = refused(&site);
    assert!(told.contains("stands here a second time, first at"), "{told}");
    std::fs::remove_file(site.path().join("out/again.yaml")).unwrap();
    site.put("out/all.yaml", &healthy("prod/", "x").replace("barmancloud.cnpg.io/v1", "barmancloud.cnpg.io/v2"));
    assert!(refused(&site).contains("barmancloud.cnpg.io/v1 is read"));
    let (exit, _, stderr) = site.dalsegno(&["check", "--manifests", "prod=nowhere"]);
    assert!(exit == 2 && stderr.contains("nowhere: cannot be read"), "{stderr}");
}

#[test]
fn large_definitions_beside_the_objects_do_not_matter() {
    let site = Site::new();
    let definition =
        format!("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nx:\n{}", "- a: 1\n".repeat(30_000));
    site.put("out/crds.yaml", &definition);
    site.put("out/all.yaml", &healthy("prod/", "x"));
    assert_eq!(site.codes(&["prod=out"]), []);
}
