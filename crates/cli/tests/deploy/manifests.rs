//! Manifests of Kubernetes as trees, kustomizations put together, and what all workloads have in common.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value};

/// The folder of the kit.
pub(crate) fn deploy(below: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy")).join(below)
}

pub(crate) fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

pub(crate) fn yaml(file: &Path) -> Value {
    serde_saphyr::from_str(&text(file))
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The files below a folder that end like this.
pub(crate) fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            found.extend(files(&path, end));
        } else if path.extension().is_some_and(|own| own == end) {
            found.push(path);
        }
    }
    found
}

/// A kustomization put together: its resources with its patches, and the files of its ConfigMaps.
pub(crate) struct Kustomized {
    pub(crate) resources: Vec<Value>,
    /// Name of the ConfigMap, and the file.
    pub(crate) settings: Vec<(String, PathBuf)>,
}

impl Kustomized {
    pub(crate) fn of(folder: &Path) -> Self {
        let page = yaml(&folder.join("kustomization.yaml"));
        assert_eq!(page["kind"], "Kustomization");
        let mut whole = Self { resources: Vec::new(), settings: Vec::new() };
        for name in list(&page["resources"]) {
            let path = folder.join(name.as_str().expect("a path"));
            if path.is_dir() {
                let base = Self::of(&path);
                whole.resources.extend(base.resources);
                whole.settings.extend(base.settings);
            } else {
                whole.resources.push(yaml(&path));
            }
        }
        for generator in list(&page["configMapGenerator"]) {
            let name = generator["name"].as_str().expect("a name");
            for file in list(&generator["files"]) {
                let file = folder.join(file.as_str().expect("a path"));
                assert!(file.is_file(), "{}", file.display());
                whole.settings.push((name.to_owned(), file));
            }
        }
        for patch in list(&page["patches"]) {
            whole.patch(folder, patch);
        }
        whole
    }

    /// A file that is merged, or a list of operations, of which `remove` is known.
    fn patch(&mut self, folder: &Path, patch: &Value) {
        if let Some(path) = patch["path"].as_str() {
            let change = yaml(&folder.join(path));
            let target = self.find(&change["kind"], &change["metadata"]["name"]);
            return merge(target, &change);
        }
        let operations = patch["patch"].as_str().expect("operations");
        let operations: Value = serde_saphyr::from_str(operations).expect("YAML");
        let target = self.find(&patch["target"]["kind"], &patch["target"]["name"]);
        for operation in list(&operations) {
            assert_eq!(operation["op"], "remove");
            let path = operation["path"].as_str().expect("a path");
            let (above, key) = path.rsplit_once('/').expect("a path with slashes");
            let above = target.pointer_mut(above).and_then(Value::as_object_mut);
            assert!(above.and_then(|above| above.remove(key)).is_some(), "{path} is not there");
        }
    }

    fn find(&mut self, kind: &Value, name: &Value) -> &mut Value {
        let is = |it: &&mut Value| it["kind"] == *kind && it["metadata"]["name"] == *name;
        self.resources.iter_mut().find(is).unwrap_or_else(|| panic!("no {kind} {name}"))
    }

    pub(crate) fn kind(&self, kind: &str) -> &Value {
        let found = self.resources.iter().find(|it| it["kind"] == kind);
        found.unwrap_or_else(|| panic!("no {kind}"))
    }

    /// The file of a ConfigMap that a volume of the pod mounts at this path.
    pub(crate) fn mounted(&self, pod: &Value, container: &Value, path: &str) -> PathBuf {
        let (folder, name) = path.rsplit_once('/').expect("a path");
        let mount = list(&container["volumeMounts"]).iter().find(|it| it["mountPath"] == folder);
        let volume = &mount.unwrap_or_else(|| panic!("nothing is mounted at {folder}"))["name"];
        let volume = list(&pod["volumes"]).iter().find(|it| it["name"] == *volume);
        let map = volume.expect("a volume")["configMap"]["name"].as_str().expect("a ConfigMap");
        let file = self.settings.iter().find(|(of, file)| of == map && file.ends_with(name));
        file.unwrap_or_else(|| panic!("{map} has no {name}")).1.clone()
    }
}

/// A strategic merge: tables key by key, lists of named items by name, and everything else replaced.
fn merge(into: &mut Value, change: &Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(change)) => {
            for (key, value) in change {
                merge(into.entry(key).or_insert(Value::Object(Map::new())), value);
            }
        }
        (Value::Array(into), Value::Array(change))
            if change.iter().all(|it| it["name"].is_string()) =>
        {
            for value in change {
                match into.iter_mut().find(|it| it["name"] == value["name"]) {
                    Some(known) => merge(known, value),
                    None => into.push(value.clone()),
                }
            }
        }
        (into, change) => *into = change.clone(),
    }
}

/// The items of a list; none where there is none.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn named<'v>(items: &'v Value, name: &str) -> &'v Value {
    let found = list(items).iter().find(|it| it["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

pub(crate) fn arguments(container: &Value) -> Vec<&str> {
    list(&container["args"]).iter().map(|it| it.as_str().expect("text")).collect()
}

/// The value behind a flag.
pub(crate) fn value_of<'a>(arguments: &[&'a str], flag: &str) -> &'a str {
    let at = arguments.iter().position(|it| *it == flag).unwrap_or_else(|| panic!("no {flag}"));
    arguments[at + 1]
}

/// The seconds that preStop takes.
pub(crate) fn pre_stop(container: &Value) -> u64 {
    let hook = &container["lifecycle"]["preStop"];
    let by_program = list(&hook["exec"]["command"]).last().and_then(Value::as_str);
    by_program
        .and_then(|seconds| seconds.parse().ok())
        .or(hook["sleep"]["seconds"].as_u64())
        .unwrap_or(0)
}

/// Bytes of a quantity such as `192Mi`.
pub(crate) fn quantity(value: &Value) -> u64 {
    let text = value.as_str().expect("a quantity");
    stagger_text::parse_size(&format!("{text}B")).unwrap_or_else(|| panic!("{text}"))
}

/// The probes of a container as paths; each port that they name is one of the container.
pub(crate) fn probed(container: &Value) -> Vec<&str> {
    let probes = ["startupProbe", "readinessProbe", "livenessProbe"];
    let probes = probes.iter().filter_map(|probe| container.get(probe));
    let path = |probe: &'_ Value| -> String {
        named(&container["ports"], probe["httpGet"]["port"].as_str().expect("a name"));
        probe["httpGet"]["path"].as_str().expect("a path").to_owned()
    };
    probes.clone().map(path).for_each(drop);
    probes.map(|probe| probe["httpGet"]["path"].as_str().expect("a path")).collect()
}

/// Asserts that a pod has no more rights than it needs, bounds its memory, and selects its own labels.
#[track_caller]
pub(crate) fn is_confined(workload: &Value) {
    let pod = &workload["spec"]["template"]["spec"];
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    assert_eq!(pod["automountServiceAccountToken"], false);
    assert_eq!(pod["enableServiceLinks"], false);
    let containers = list(&pod["containers"]).iter().chain(list(&pod["initContainers"]));
    for container in containers {
        let name = &container["name"];
        let context = &container["securityContext"];
        assert_eq!(context["allowPrivilegeEscalation"], false, "{name}");
        assert_eq!(context["readOnlyRootFilesystem"], true, "{name}");
        assert_eq!(context["capabilities"]["drop"][0], "ALL", "{name}");
        let resources = &container["resources"];
        assert!(
            quantity(&resources["requests"]["memory"]) <= quantity(&resources["limits"]["memory"]),
            "{name}"
        );
        for mount in list(&container["volumeMounts"]) {
            let known = [&pod["volumes"], &workload["spec"]["volumeClaimTemplates"]];
            let names = known
                .iter()
                .flat_map(|all| list(all))
                .filter_map(|it| it["name"].as_str().or(it["metadata"]["name"].as_str()));
            let is = |name: &str| mount["name"] == name;
            assert_eq!(names.filter(|name| is(name)).count(), 1, "{name}: {mount}");
        }
    }
    let labels = &workload["spec"]["template"]["metadata"]["labels"];
    assert_eq!(workload["spec"]["selector"]["matchLabels"], *labels);
}

#[test]
fn every_manifest_says_what_it_is() {
    let all = files(&deploy("kubernetes"), "yaml");
    assert!(all.len() >= 8, "{all:?}");
    for file in all {
        let page = yaml(&file);
        for key in ["apiVersion", "kind"] {
            assert!(page[key].is_string(), "{}: no {key}", file.display());
        }
    }
}

#[test]
fn the_image_has_one_version_in_all_kustomizations() {
    for file in files(&deploy("kubernetes"), "yaml") {
        for image in list(&yaml(&file)["images"]) {
            assert_eq!(image["name"], "ghcr.io/stagger-rs/stagger");
            assert_eq!(image["newTag"], env!("CARGO_PKG_VERSION"), "{}", file.display());
        }
    }
}

/// Skipped, with a note, where kubectl is not installed.
#[test]
fn kustomize_makes_of_each_folder_what_these_tests_look_at() {
    for below in
        ["kubernetes/sidecar", "kubernetes/dispatcher/base", "kubernetes/dispatcher/postgres"]
    {
        let folder = deploy(below);
        let Some(page) = kustomize(&folder) else { return };
        let rendered: Vec<Value> = serde_saphyr::from_multiple(&page).expect("YAML");
        let own = Kustomized::of(&folder);
        for resource in &own.resources {
            let same = |it: &&Value| it["kind"] == resource["kind"];
            let theirs =
                rendered.iter().find(same).unwrap_or_else(|| panic!("no {}", resource["kind"]));
            let spec = |it: &Value| {
                it["spec"].as_object().map(|spec| spec.keys().cloned().collect::<Vec<_>>())
            };
            assert_eq!(spec(resource), spec(theirs), "{below}: {}", resource["kind"]);
            assert_eq!(resource["spec"]["replicas"], theirs["spec"]["replicas"]);
        }
        let maps = rendered.iter().filter(|it| it["kind"] == "ConfigMap").count();
        assert_eq!(maps, own.settings.len(), "{below}");
    }
}

#[expect(clippy::print_stderr, reason = "a note on what is not tested here")]
fn kustomize(folder: &Path) -> Option<String> {
    let Ok(output) = Command::new("kubectl").arg("kustomize").arg(folder).output() else {
        eprintln!("skipped: kubectl is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}
