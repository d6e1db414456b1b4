//! The dispatcher in Kubernetes: the base with one node and its volume, and the overlay with three and PostgreSQL.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::manifests::{
    Kustomized, arguments, deploy, is_confined, list, named, pre_stop, probed, text, value_of,
};
use super::processes::{ListeningProcess, has_flags, stagger};

const BASE: &str = "kubernetes/dispatcher/base";
const POSTGRES: &str = "kubernetes/dispatcher/postgres";

fn pod(whole: &Kustomized) -> &Value {
    &whole.kind("StatefulSet")["spec"]["template"]["spec"]
}

fn container(whole: &Kustomized) -> &Value {
    named(&pod(whole)["containers"], "stagger")
}

/// The settings file that the container reads.
fn settings(whole: &Kustomized) -> (PathBuf, toml::Table) {
    let path = value_of(&arguments(container(whole)), "--config").to_owned();
    let file = whole.mounted(pod(whole), container(whole), &path);
    let table = text(&file).parse().expect("TOML");
    (file, table)
}

#[test]
fn the_settings_are_good_and_the_flags_and_variables_are_known() {
    for folder in [BASE, POSTGRES] {
        let whole = Kustomized::of(&deploy(folder));
        let (file, _) = settings(&whole);
        let data = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("dispatcher-check");
        fs::create_dir_all(&data).expect("a temporary folder");
        let checked = stagger(&[
            "serve",
            "--config",
            &file.display().to_string(),
            "--data",
            &data.display().to_string(),
            "--check",
        ]);
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        has_flags(&arguments(container(&whole)));
        for variable in list(&container(&whole)["env"]) {
            let name = variable["name"].as_str().expect("a name");
            let setting = name.strip_prefix("STAGGER_").expect("a setting");
            has_flags(&["serve", &format!("--{}", setting.to_lowercase().replace('_', "-")), "x"]);
            let secret = &variable["valueFrom"]["secretKeyRef"];
            assert_eq!(secret["name"], "stagger", "{name} is a secret");
        }
        is_confined(whole.kind("StatefulSet"));
    }
}

#[test]
fn ports_labels_and_probes_name_the_same_things() {
    let whole = Kustomized::of(&deploy(BASE));
    let (_, table) = settings(&whole);
    let listen: std::net::SocketAddr =
        table["listen"].as_str().expect("an address").parse().expect("an address");
    let port = &named(&container(&whole)["ports"], "http")["containerPort"];
    assert_eq!(*port, listen.port());
    assert!(listen.ip().is_unspecified(), "a Service reaches the address of the pod");
    let service = whole.kind("Service");
    named(
        &container(&whole)["ports"],
        service["spec"]["ports"][0]["targetPort"].as_str().expect("a name"),
    );
    let template = &whole.kind("StatefulSet")["spec"]["template"]["metadata"];
    assert_eq!(service["spec"]["selector"], template["labels"]);
    assert_eq!(
        whole.kind("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        template["labels"]
    );
    assert_eq!(whole.kind("StatefulSet")["spec"]["serviceName"], service["metadata"]["name"]);
    assert_eq!(template["annotations"]["prometheus.io/port"], listen.port().to_string());

    let node = ListeningProcess::start(&["serve", "--memory", "--listen", "127.0.0.1:0"], 1);
    node.answers(&probed(container(&whole)));
    node.answers(&[template["annotations"]["prometheus.io/path"].as_str().expect("a path")]);
}

#[test]
fn attempts_in_flight_have_time_to_end() {
    let whole = Kustomized::of(&deploy(BASE));
    let (_, table) = settings(&whole);
    let grace: stagger::Span = table["grace"].as_str().expect("a time").parse().expect("a time");
    let stop = pre_stop(container(&whole));
    let period = pod(&whole)["terminationGracePeriodSeconds"].as_u64().expect("seconds");
    assert!(
        stop > 0 && period > grace.as_secs_ceil() + stop,
        "{period} s for {stop} s and {grace}"
    );
}

#[test]
fn one_node_has_a_volume_and_three_have_a_database() {
    let base = Kustomized::of(&deploy(BASE));
    let set = base.kind("StatefulSet");
    let data = value_of(&arguments(container(&base)), "--data");
    let mount = list(&container(&base)["volumeMounts"]).iter().find(|it| it["mountPath"] == data);
    let claim = &set["spec"]["volumeClaimTemplates"][0];
    assert_eq!(claim["metadata"]["name"], mount.expect("the data folder is mounted")["name"]);
    assert_eq!(set["spec"]["replicas"], 1, "the embedded store has one node");
    assert!(list(&container(&base)["env"]).iter().all(|it| it["name"] != "STAGGER_STORE"));

    let overlay = Kustomized::of(&deploy(POSTGRES));
    let set = overlay.kind("StatefulSet");
    assert_eq!(set["spec"]["replicas"], 3);
    assert!(set["spec"]["volumeClaimTemplates"].is_null());
    named(&container(&overlay)["env"], "STAGGER_STORE");
    named(&container(&overlay)["env"], "STAGGER_ADMIN_KEY");
    let disrupted = &overlay.kind("PodDisruptionBudget")["spec"]["maxUnavailable"];
    assert_eq!(*disrupted, 1, "two of three nodes stay");
}
