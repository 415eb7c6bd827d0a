//! What the chart makes of values: a CronJob or a Deployment, closed pods, and refusals where values make no sense.

use dalsegno::conductor::LONGEST_UNDO_SECONDS;
use serde_json::{Value, json};

use super::render::{chart, helm, kinds, one, rendered, root, with_configuration};

fn pod_spec(documents: &[Value], kind: &str) -> Value {
    let object = one(documents, kind);
    let template =
        if kind == "CronJob" { &object["spec"]["jobTemplate"]["spec"]["template"] } else { &object["spec"]["template"] };
    template["spec"].clone()
}

#[test]
fn a_cronjob_runs_one_pass_at_a_time_and_never_a_second_try() {
    let Some(helm) = helm() else { return };
    let documents = rendered(&helm, &with_configuration("")).unwrap();
    assert_eq!(kinds(&documents), ["ConfigMap", "CronJob", "NetworkPolicy", "ServiceAccount"]);
    let spec = &one(&documents, "CronJob")["spec"];
    assert_eq!(spec["concurrencyPolicy"], "Forbid");
    assert_eq!(spec["startingDeadlineSeconds"], 300);
    let job = &spec["jobTemplate"]["spec"];
    assert_eq!((&job["backoffLimit"], &job["activeDeadlineSeconds"]), (&json!(0), &json!(900)));
    let pod = pod_spec(&documents, "CronJob");
    assert_eq!(pod["restartPolicy"], "Never");
    let args: Vec<&str> = pod["containers"][0]["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(args, ["run", "--exit", "work", "--log-format", "json"]);
    let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    assert!(grace > LONGEST_UNDO_SECONDS, "{grace} s of grace, and the longest undo may take {LONGEST_UNDO_SECONDS} s");
}

#[test]
fn a_daemon_is_one_pod_with_a_service_and_only_then_a_service_monitor() {
    let Some(helm) = helm() else { return };
    let documents = rendered(&helm, &with_configuration("mode: daemon\n")).unwrap();
    assert_eq!(kinds(&documents), ["ConfigMap", "Deployment", "NetworkPolicy", "Service", "ServiceAccount"]);
    let deployment = one(&documents, "Deployment");
    assert_eq!((&deployment["spec"]["replicas"], &deployment["spec"]["strategy"]["type"]), (&json!(1), &json!("Recreate")));
    let monitored = rendered(&helm, &with_configuration("mode: daemon\ndaemon: {serviceMonitor: {enabled: true}}\n")).unwrap();
    assert!(kinds(&monitored).contains(&"ServiceMonitor"));
    let monitor = one(&monitored, "ServiceMonitor");
    let service = one(&monitored, "Service");
    for (name, value) in monitor["spec"]["selector"]["matchLabels"].as_object().unwrap() {
        assert_eq!(&service["metadata"]["labels"][name], value, "the monitor finds the service by {name}");
    }
    let said = rendered(&helm, &with_configuration("daemon: {serviceMonitor: {enabled: true}}\n")).unwrap_err();
    assert!(said.contains("gone before it could be scraped"), "{said}");
}

#[test]
fn the_pod_is_closed_and_what_it_writes_is_scratch() {
    let Some(helm) = helm() else { return };
    for (kind, more) in [("CronJob", ""), ("Deployment", "mode: daemon\n")] {
        let documents = rendered(&helm, &with_configuration(more)).unwrap();
        let pod = pod_spec(&documents, kind);
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true, "{kind}");
        let container = &pod["containers"][0]["securityContext"];
        assert_eq!(
            container,
            &json!({"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "runAsNonRoot": true,
                    "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}),
            "{kind}"
        );
        let volumes = pod["volumes"].as_array().unwrap();
        let of = |name: &str| volumes.iter().find(|volume| volume["name"] == name).unwrap();
        for scratch in ["state", "tmp"] {
            assert!(of(scratch)["emptyDir"].is_object(), "{kind}: {scratch}");
        }
        let mounts = pod["containers"][0]["volumeMounts"].as_array().unwrap();
        for mount in mounts {
            let writable = matches!(mount["name"].as_str(), Some("state" | "tmp"));
            assert_eq!(mount["readOnly"] == true, !writable, "{kind}: {mount}");
        }
        let environment = pod["containers"][0]["env"].as_array().unwrap();
        let value = |name: &str| environment.iter().find(|one| one["name"] == name).map(|one| one["value"].clone());
        assert_eq!(value("DALSEGNO__PASS__MODE"), Some(json!(if kind == "CronJob" { "cronjob" } else { "daemon" })));
        assert_eq!(value("DALSEGNO__LEDGER__HOME"), Some(json!("bucket")));
    }
}

#[test]
fn secrets_that_are_there_are_named_and_none_is_made() {
    let Some(helm) = helm() else { return };
    let more = "env: [{name: R2_ID, secret: keys, key: id}]\nsecretFiles: [{name: pg, secret: ro}]\n";
    let documents = rendered(&helm, &with_configuration(more)).unwrap();
    assert!(!kinds(&documents).contains(&"Secret"));
    let pod = pod_spec(&documents, "CronJob");
    let environment = pod["containers"][0]["env"].as_array().unwrap();
    let given = environment.iter().find(|one| one["name"] == "R2_ID").unwrap();
    assert_eq!(given["valueFrom"], json!({"secretKeyRef": {"name": "keys", "key": "id"}}));
    let volumes = pod["volumes"].as_array().unwrap();
    let file = volumes.iter().find(|volume| volume["name"] == "secret-pg").unwrap();
    // 0440 in octal.
    assert_eq!(file["secret"], json!({"secretName": "ro", "defaultMode": 0o440}));
}

#[test]
fn a_volume_is_claimed_once_and_kept() {
    let Some(helm) = helm() else { return };
    let documents = rendered(&helm, &with_configuration("ledger: {home: volume}\n")).unwrap();
    let claim = one(&documents, "PersistentVolumeClaim");
    assert_eq!(claim["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
    let pod = pod_spec(&documents, "CronJob");
    let state = pod["volumes"].as_array().unwrap().iter().find(|volume| volume["name"] == "state").unwrap().clone();
    assert_eq!(state["persistentVolumeClaim"]["claimName"], claim["metadata"]["name"]);
    let own = rendered(&helm, &with_configuration("ledger: {home: volume, volume: {existingClaim: mine}}\n")).unwrap();
    assert!(!kinds(&own).contains(&"PersistentVolumeClaim"));
}

#[test]
fn egress_is_open_to_what_the_configuration_names_and_to_nothing_else() {
    let Some(helm) = helm() else { return };
    let documents = rendered(&helm, &with_configuration("networkPolicy: {ports: [587]}\n")).unwrap();
    let policy = &one(&documents, "NetworkPolicy")["spec"];
    assert_eq!(policy["policyTypes"], json!(["Ingress", "Egress"]));
    assert_eq!(policy["ingress"], Value::Null, "nobody calls a CronJob");
    let ports = |rule: &Value| -> Vec<u64> {
        rule["ports"].as_array().unwrap().iter().filter_map(|port| port["port"].as_u64()).collect()
    };
    let egress = policy["egress"].as_array().unwrap();
    let mut stores = ports(&egress[1]);
    stores.sort_unstable();
    assert_eq!((ports(&egress[0]), stores, ports(&egress[2])), (vec![53, 53], vec![443, 587, 9000], vec![443, 6443]));
    let closed = rendered(&helm, &with_configuration("networkPolicy: {dns: false, apiServer: {enabled: false}}\n")).unwrap();
    assert_eq!(one(&closed, "NetworkPolicy")["spec"]["egress"].as_array().unwrap().len(), 1);
}

#[test]
fn values_that_make_no_sense_are_refused_by_the_schema() {
    let Some(helm) = helm() else { return };
    for (more, word) in [
        ("mode: both\n", "mode"),
        ("terminationGracePeriodSeconds: 600\n", "terminationGracePeriodSeconds"),
        ("securityContext: {runAsUser: 0}\n", "runAsUser"),
        ("cronjob: {shedule: '* * * * *'}\n", "shedule"),
        ("env: [{name: A, value: in-the-open}]\n", "value"),
        ("image: {repository: ''}\n", "repository"),
        ("ledger: {home: nfs}\n", "home"),
        ("daemon: {every: 5 minutes}\n", "every"),
    ] {
        let said = rendered(&helm, &with_configuration(more)).unwrap_err();
        assert!(said.contains(word), "{more}: {said}");
    }
    let said = rendered(&helm, "mode: cronjob\n").unwrap_err();
    assert!(said.contains("without a configuration there is nothing to look at"), "{said}");
    let said = rendered(&helm, &with_configuration("existingConfigMap: x\n")).unwrap_err();
    assert!(said.contains("give one of the two"), "{said}");
}

#[test]
fn helm_finds_nothing_to_say_against_the_chart() {
    let Some(helm) = helm() else { return };
    for mode in ["cronjob", "daemon"] {
        let output = std::process::Command::new(&helm)
            .args([
                "lint",
                "--strict",
                "--kube-version",
                "1.30.0",
                "--set",
                "existingConfigMap=x",
                "--set",
                &format!("mode={mode}"),
            ])
            .arg(chart())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn the_schema_knows_every_value_and_no_other() {
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(chart().join("values.schema.json")).unwrap()).unwrap();
    let values: Value = serde_saphyr::from_str(&std::fs::read_to_string(chart().join("values.yaml")).unwrap()).unwrap();
    let mut known: Vec<&String> = schema["properties"].as_object().unwrap().keys().filter(|key| *key != "global").collect();
    let mut written: Vec<&String> = values.as_object().unwrap().keys().collect();
    known.sort();
    written.sort();
    assert_eq!(known, written);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&values).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn kustomize_is_what_the_chart_renders() {
    let Some(helm) = helm() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = root().join("deploy/render.sh");
    let output = std::process::Command::new(script).arg(folder.path()).env("HELM", &helm).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let files = |base: &std::path::Path| {
        let walk = walkdir::WalkDir::new(base).into_iter().flatten().filter(|entry| entry.file_type().is_file());
        let mut found: Vec<(String, String)> = walk
            .map(|entry| {
                (entry.path().strip_prefix(base).unwrap().display().to_string(), std::fs::read_to_string(entry.path()).unwrap())
            })
            .filter(|(name, _)| name != "values.yaml")
            .collect();
        found.sort();
        found
    };
    let (now, kept) = (files(folder.path()), files(&root().join("deploy/kustomize")));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let output = std::process::Command::new(root().join("deploy/render.sh")).env("HELM", &helm).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    assert_eq!(now, kept, "run deploy/render.sh");
}
