//! The example of a program with the proxy beside it.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use stagger_proxy::config::{HeaderValueSource, ProxySettings};

use super::manifests::{
    Kustomized, arguments, deploy, is_confined, list, named, pre_stop, probed, quantity, text,
    value_of,
};
use super::processes::{ListeningProcess, has_flags, stagger};

struct Sidecar {
    whole: Kustomized,
}

impl Sidecar {
    fn read() -> Self {
        Self { whole: Kustomized::of(&deploy("kubernetes/sidecar")) }
    }

    fn workload(&self) -> &Value {
        self.whole.kind("Deployment")
    }

    fn pod(&self) -> &Value {
        &self.workload()["spec"]["template"]["spec"]
    }

    fn proxy(&self) -> &Value {
        named(&self.pod()["initContainers"], "stagger-proxy")
    }

    /// The routes that the container reads, in a file with the token that the kubelet would put there.
    fn routes(&self, folder: &str) -> (PathBuf, ProxySettings) {
        let config = value_of(&arguments(self.proxy()), "--config").to_owned();
        let routes = text(&self.whole.mounted(self.pod(), self.proxy(), &config));
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
        fs::create_dir_all(&folder).expect("a temporary folder");
        fs::write(folder.join("token"), "secret").expect("writable");
        let routes = routes.replace("/var/run/secrets/orders", &folder.display().to_string());
        let file = folder.join("routes.toml");
        fs::write(&file, &routes).expect("writable");
        let settings = ProxySettings::read(&file).unwrap_or_else(|fault| panic!("{fault}"));
        (file, settings)
    }
}

#[test]
fn the_routes_of_the_config_map_are_good_and_the_flags_are_known() {
    let sidecar = Sidecar::read();
    let (file, _) = sidecar.routes("sidecar-check");
    let checked = stagger(&["proxy", "--config", &file.display().to_string(), "--check"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    let linted = stagger(&["lint", &file.display().to_string(), "--deny", "warnings"]);
    assert!(linted.status.success(), "{}", String::from_utf8_lossy(&linted.stdout));
    has_flags(&arguments(sidecar.proxy()));
    is_confined(sidecar.workload());
    assert_eq!(sidecar.proxy()["restartPolicy"], "Always", "a step before the start never ends");
}

#[test]
fn probes_reach_the_admin_address_and_programs_the_loopback_one() {
    let sidecar = Sidecar::read();
    let (file, settings) = sidecar.routes("sidecar-ports");
    let admin = settings.admin.expect("probes need it");
    assert!(!admin.ip().is_loopback(), "the kubelet is outside of the pod");
    assert_eq!(named(&sidecar.proxy()["ports"], "proxy-admin")["containerPort"], admin.port());
    let scraped = &sidecar.workload()["spec"]["template"]["metadata"]["annotations"];
    assert_eq!(scraped["prometheus.io/port"], admin.port().to_string());
    let listen = settings.routes[0].listen;
    assert!(listen.ip().is_loopback(), "the proxy has no login");
    let url = &named(&named(&sidecar.pod()["containers"], "shop")["env"], "ORDERS_URL")["value"];
    let url = url.as_str().expect("a URL").strip_prefix(&format!("http://{listen}"));
    let path = format!("{}/7", url.expect("the address of the proxy"));
    assert!(settings.routes.iter().any(|route| path.starts_with(&route.path)), "{path}");

    let free = text(&file)
        .replace(&listen.to_string(), "127.0.0.1:0")
        .replace(&admin.to_string(), "127.0.0.1:0");
    fs::write(&file, free).expect("writable");
    let proxy = ListeningProcess::start(&["proxy", "--config", &file.display().to_string()], 2);
    proxy.answers(&probed(sidecar.proxy()));
    proxy.answers(&[scraped["prometheus.io/path"].as_str().expect("a path")]);
}

#[test]
fn calls_in_flight_have_time_to_end_and_bodies_have_memory() {
    let sidecar = Sidecar::read();
    let (_, settings) = sidecar.routes("sidecar-limits");
    let drain = settings.limits.drain.as_secs_ceil();
    let stop: u64 =
        list(&sidecar.pod()["containers"]).iter().map(pre_stop).max().expect("a container");
    assert!(stop > 0);
    let period = sidecar.pod()["terminationGracePeriodSeconds"].as_u64().expect("seconds");
    assert!(period > drain + stop, "{period} s for {stop} s and {drain} s");
    let bodies: usize =
        settings.routes.iter().map(|route| route.max_in_flight * route.retry.replay_limit).sum();
    let heads = settings.limits.max_connections * settings.limits.head_size;
    let limit = quantity(&sidecar.proxy()["resources"]["limits"]["memory"]);
    assert!(limit > (bodies + heads) as u64, "{bodies} and {heads} bytes in {limit}");
}

#[test]
fn the_token_is_where_the_route_reads_it() {
    let sidecar = Sidecar::read();
    let config = value_of(&arguments(sidecar.proxy()), "--config").to_owned();
    let routes = text(&sidecar.whole.mounted(sidecar.pod(), sidecar.proxy(), &config));
    let settings = ProxySettings::parse("routes.toml", &routes).expect("good settings");
    let header = &settings.routes[0].headers[0];
    let HeaderValueSource::File(file) = &header.source else { panic!("{header:?}") };
    let volume = named(&sidecar.pod()["volumes"], "orders-token");
    let path =
        volume["projected"]["sources"][0]["serviceAccountToken"]["path"].as_str().expect("a path");
    let mount = named(&sidecar.proxy()["volumeMounts"], "orders-token")["mountPath"].as_str();
    assert_eq!(file.display().to_string(), format!("{}/{path}", mount.expect("a path")));
}
