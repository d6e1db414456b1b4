//! The crates: each built, and documented with all its features, from nothing but its package.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask_workbench::{Package, Workspace, cargo, note};

use super::kit::done;
use super::step::{Step, StepResult};

/// The files that each package must have.
const FILES: [&str; 3] = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Packs the published crates, and builds and documents each in a clean folder with nothing but the others'
/// packages beside it, in the order of their dependencies.
///
/// The check of `cargo package` itself is not used: it unpacks each version once for all, so that a second run
/// would see the packages of the first.
pub(super) fn build(workspace: &Workspace) -> Result<Vec<Step>, Box<dyn Error>> {
    let published = in_order(&workspace.packages);
    let mut pack = cargo();
    pack.current_dir(&workspace.workspace_root);
    pack.args(["package", "--workspace", "--locked", "--allow-dirty", "--no-verify"]);
    let private = workspace.packages.iter().filter(|package| !package.is_published());
    pack.args(private.map(|package| format!("--exclude={}", package.name)));
    if let Err(error) = done(&mut pack) {
        return Ok(vec![Step::new("package", "workspace", StepResult::Failed(error.to_string()))]);
    }
    let folder = workspace.target_directory.join("package");
    let packed_folder = PackageFolder { workspace, folder, published };
    packed_folder.unpack()?;
    let packed =
        |package: &&Package| Step::new("package", &package.name, packed_folder.build(package));
    let documented =
        |package: &&Package| Step::new("docs", &package.name, packed_folder.document(package));
    let steps = packed_folder.published.iter().map(packed).collect::<Vec<_>>().into_iter();
    Ok(steps.chain(packed_folder.published.iter().map(documented)).collect())
}

/// The published crates, each after those that it needs.
fn in_order(packages: &[Package]) -> Vec<&Package> {
    let mut left: Vec<&Package> =
        packages.iter().filter(|package| package.is_published()).collect();
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let waits = |package: &&Package| {
            let needed = package.dependencies.iter().filter(|needed| needed.kind.is_none());
            needed.into_iter().any(|needed| left.iter().any(|other| other.name == needed.name))
        };
        let (later, now): (Vec<_>, Vec<_>) = left.iter().copied().partition(waits);
        assert!(!now.is_empty(), "cargo refuses crates that need each other");
        ordered.extend(now);
        left = later;
    }
    ordered
}

fn name(package: &Package) -> String {
    format!("{}-{}", package.name, package.version)
}

/// A folder with the unpacked packages of all published crates.
struct PackageFolder<'a> {
    workspace: &'a Workspace,
    folder: PathBuf,
    published: Vec<&'a Package>,
}

impl PackageFolder<'_> {
    /// Unpacks all of them, into folders that are new.
    fn unpack(&self) -> Result<(), Box<dyn Error>> {
        let alone = self.folder.join("alone");
        if alone.exists() {
            fs::remove_dir_all(&alone)?;
        }
        fs::create_dir_all(&alone)?;
        for package in &self.published {
            let archive = self.folder.join(format!("{}.crate", name(package)));
            done(Command::new("tar").current_dir(&alone).arg("-xzf").arg(archive))?;
        }
        // They are no part of the workspace in whose target folder they are.
        let members: Vec<String> = self.published.iter().map(|package| name(package)).collect();
        let patches = self
            .published
            .iter()
            .map(|package| format!("{} = {{ path = {:?} }}\n", package.name, name(package)));
        let manifest = format!(
            "[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n[patch.crates-io]\n{}",
            patches.collect::<String>(),
        );
        fs::write(alone.join("Cargo.toml"), manifest)?;
        let lock = self.workspace.workspace_root.join("Cargo.lock");
        if lock.exists() {
            fs::copy(lock, alone.join("Cargo.lock"))?;
        }
        Ok(())
    }

    /// Runs cargo on one package with all its features.
    fn run(&self, package: &Package, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
        note(&format!("cargo {} of {}", arguments[0], package.name));
        let mut command = cargo();
        command.current_dir(self.folder.join("alone")).env("RUSTDOCFLAGS", "-D warnings");
        // What others have built of the dependencies is taken; the results have a place of their own.
        command.env("CARGO_BUILD_BUILD_DIR", &self.workspace.target_directory);
        command.env("CARGO_TARGET_DIR", self.folder.join("built")).env("CARGO_INCREMENTAL", "0");
        command.args(arguments).args(["--quiet", "--all-features", "--package", &package.name]);
        done(&mut command)
    }

    fn build(&self, package: &Package) -> StepResult {
        let unpacked = self.folder.join("alone").join(name(package));
        if let Some(missing) = FILES.iter().find(|file| !unpacked.join(file).is_file()) {
            return StepResult::Failed(format!("the package has no {missing}"));
        }
        let archive = self.folder.join(format!("{}.crate", name(package)));
        let built = self.run(package, &["build"]);
        let size = built.and_then(|_| Ok(fs::metadata(archive)?.len()));
        StepResult::of(size)
    }

    /// Its documentation with all features, as docs.rs builds it.
    fn document(&self, package: &Package) -> StepResult {
        if !self.folder.join("alone").join(name(package)).join("src/lib.rs").is_file() {
            return StepResult::Skipped("a program has its pages in docs/".to_owned());
        }
        let pages = self.folder.join("built/doc").join(package.name.replace('-', "_"));
        let documented = self.run(package, &["doc", "--no-deps", "--lib"]);
        StepResult::of(documented.and_then(|_| bytes_below(&pages)))
    }
}

fn bytes_below(folder: &Path) -> Result<u64, Box<dyn Error>> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let file = entry.metadata()?;
        bytes += if file.is_dir() { bytes_below(&entry.path())? } else { file.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use xtask_workbench::Dependency;

    use super::*;

    fn package(name: &str, needs: &[&str]) -> Package {
        let dependencies = needs.iter().map(|name| Dependency { name: (*name).into(), kind: None });
        Package {
            name: name.to_owned(),
            version: "1.2.3".to_owned(),
            dependencies: dependencies.collect(),
            ..Package::default()
        }
    }

    #[test]
    fn what_others_need_comes_first_and_what_is_private_not_at_all() {
        let mut tests = package("tests", &[]);
        tests.publish = Some(Vec::new());
        let all = [
            package("cli", &["core", "lib"]),
            package("lib", &["core"]),
            package("core", &["serde"]),
            tests,
        ];
        let names: Vec<&str> = in_order(&all).iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["core", "lib", "cli"]);
    }

    #[test]
    fn a_package_is_unpacked_anew_and_refused_without_its_licence() {
        let folder = std::env::temp_dir().join(format!("stagger-packages-{}", std::process::id()));
        let core = package("core", &[]);
        let files = folder.join("core-1.2.3");
        fs::create_dir_all(&files).expect("it is ours");
        for file in ["README.md", "LICENSE-APACHE"] {
            fs::write(files.join(file), "").expect("it is ours");
        }
        let mut tar = Command::new("tar");
        tar.current_dir(&folder).args(["-czf", "core-1.2.3.crate", "core-1.2.3"]);
        done(&mut tar).expect("tar runs");
        let workspace = Workspace {
            packages: Vec::new(),
            target_directory: folder.clone(),
            workspace_root: folder.clone(),
        };
        let packed_folder =
            PackageFolder { workspace: &workspace, folder: folder.clone(), published: vec![&core] };
        let stale = folder.join("alone/core-1.2.3/LICENSE-MIT");
        fs::create_dir_all(stale.parent().expect("a folder")).expect("it is ours");
        fs::write(stale, "").expect("it is ours");
        packed_folder.unpack().expect("it can be unpacked");
        let found = packed_folder.build(&core);
        fs::remove_dir_all(&folder).expect("it is ours");
        assert_eq!(found, StepResult::Failed("the package has no LICENSE-MIT".to_owned()));
    }
}
