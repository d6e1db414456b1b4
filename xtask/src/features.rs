//! Each feature alone: features only add, so every one of them must hold up by itself.

use std::error::Error;

use xtask_workbench::{Package, Workspace, cargo, note};

/// The crates that other people build with features of their own choice.
const SHIPPED: [&str; 2] = ["stagger-core", "stagger"];

/// Lints the shipped crates without features and with each one alone; stops at the first failure.
pub(crate) fn run() -> Result<bool, Box<dyn Error>> {
    let workspace = Workspace::load()?;
    for package in workspace.packages.iter().filter(|p| SHIPPED.contains(&p.name.as_str())) {
        for features in alone(package) {
            note(&format!("{} with [{features}]", package.name));
            if !lint(&package.name, features)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn lint(package: &str, features: &str) -> Result<bool, Box<dyn Error>> {
    let status = cargo()
        .args(["clippy", "--quiet", "--package", package, "--no-default-features"])
        .args(["--features", features, "--", "-D", "warnings"])
        .status()?;
    Ok(status.success())
}

/// No feature, then each one; `default` is only a name for others.
fn alone(package: &Package) -> Vec<&str> {
    let named = package.features.keys().map(String::as_str).filter(|name| *name != "default");
    std::iter::once("").chain(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_is_tried_and_so_is_none() {
        let text = r#"{"name": "a", "dependencies": [],
                       "features": {"default": ["std"], "serde": [], "std": []}}"#;
        let package: Package = serde_json::from_str(text).expect("the fixture is valid");
        assert_eq!(alone(&package), ["", "serde", "std"]);
    }
}
