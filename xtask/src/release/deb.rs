//! The Debian package, from `[package.metadata.deb]` of the program's crate: by cargo-deb where it is installed,
//! else by Debian's own tools.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use xtask_workbench::{cargo, note};

use super::kit::{Kit, done};
use super::step::{Step, StepResult};

/// The part of cargo-deb's metadata that the package uses.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct DebMetadata {
    name: String,
    maintainer: String,
    section: String,
    extended_description: String,
    depends: String,
    conf_files: Vec<String>,
    /// Source, place in the system, and mode.
    assets: Vec<[String; 3]>,
}

/// Builds it.
pub(super) fn build(kit: &Kit<'_>) -> Result<Step, Box<dyn Error>> {
    let metadata = DebMetadata::deserialize(&kit.package.metadata["deb"])?;
    let has = |tool| Command::new(tool).arg("--version").output().is_ok();
    let outcome = if has("cargo-deb") {
        made(kit, by_cargo_deb)
    } else if let Some(tool) = ["dpkg-deb", "dpkg-shlibdeps"].into_iter().find(|tool| !has(tool)) {
        StepResult::Skipped(format!("{tool} is missing, and so is cargo-deb"))
    } else {
        made(kit, |kit| by_dpkg(kit, &metadata))
    };
    Ok(Step::new("deb", &metadata.name, outcome))
}

/// Builds the program, its manual and its completions, packs all by `pack`, and takes the checksum.
fn made(kit: &Kit<'_>, pack: impl Fn(&Kit<'_>) -> Result<String, Box<dyn Error>>) -> StepResult {
    let make = || {
        let program = kit.program(None)?;
        generated(kit, &program)?;
        kit.checksum(&pack(kit)?)
    };
    StepResult::of(make())
}

/// Writes what the program says of itself, for the assets below `target/`.
fn generated(kit: &Kit<'_>, program: &Path) -> Result<(), Box<dyn Error>> {
    let manual = kit.built("release/man");
    fs::create_dir_all(&manual)?;
    done(Command::new(program).args(["man", "--dir"]).arg(&manual))?;
    let bash = done(Command::new(program).args(["completions", "bash"]))?;
    fs::write(kit.built("release/stagger.bash"), bash)?;
    Ok(())
}

fn by_cargo_deb(kit: &Kit<'_>) -> Result<String, Box<dyn Error>> {
    note("the Debian package: by cargo-deb");
    let mut deb = cargo();
    deb.current_dir(kit.root).args([
        "deb",
        "--quiet",
        "--no-build",
        "--package",
        &kit.package.name,
    ]);
    deb.args(["--profile", kit.profile, "--output"]).arg(&kit.out);
    let printed = done(&mut deb)?;
    let file = printed.lines().last().and_then(|line| Path::new(line.trim()).file_name());
    Ok(file.ok_or("cargo-deb names no package")?.to_string_lossy().into_owned())
}

fn by_dpkg(kit: &Kit<'_>, metadata: &DebMetadata) -> Result<String, Box<dyn Error>> {
    let architecture = done(Command::new("dpkg").arg("--print-architecture"))?.trim().to_owned();
    let folder = kit.out.join("deb");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let system = folder.join("system");
    for [source, place, mode] in &metadata.assets {
        install(&assets(kit, source)?, &system.join(place), mode)?;
    }
    let version = format!("{}-1", kit.package.version);
    let depends = depends(&folder, &system, metadata)?;
    let control = control(kit, metadata, &version, &architecture, &depends);
    let debian = system.join("DEBIAN");
    fs::create_dir_all(&debian)?;
    fs::write(debian.join("control"), control)?;
    fs::write(debian.join("conffiles"), metadata.conf_files.join("\n") + "\n")?;
    let file = format!("{}_{version}_{architecture}.deb", metadata.name);
    let mut pack = Command::new("dpkg-deb");
    pack.args(["--root-owner-group", "--build"]).arg(&system).arg(kit.out.join(&file));
    done(&mut pack)?;
    fs::remove_dir_all(folder)?;
    Ok(file)
}

/// The files that a source names: one, or all that match a `*` in its last part.
fn assets(kit: &Kit<'_>, source: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let source = match source.strip_prefix("target/") {
        Some(built) => kit.built(built),
        None => kit.package.manifest_path.parent().unwrap_or(kit.root).join(source),
    };
    let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some((before, after)) = name.split_once('*') else { return Ok(vec![source]) };
    let folder = source.parent().unwrap_or(kit.root);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with(before) && name.ends_with(after) {
            found.push(path);
        }
    }
    if found.is_empty() {
        return Err(format!("no file matches {}", source.display()).into());
    }
    Ok(found)
}

/// Puts files at a place: into it when it ends with a slash.
fn install(files: &[PathBuf], place: &Path, mode: &str) -> Result<(), Box<dyn Error>> {
    let into_folder = place.to_string_lossy().ends_with('/');
    for file in files {
        let mut install = Command::new("install");
        install.args(["-D", "-m", mode]).arg(file);
        if into_folder {
            done(install.arg("-t").arg(place))?;
        } else {
            done(install.arg("-T").arg(place))?;
        }
    }
    Ok(())
}

/// The packages with the libraries that the program loads.
fn depends(folder: &Path, system: &Path, metadata: &DebMetadata) -> Result<String, Box<dyn Error>> {
    if metadata.depends != "$auto" {
        return Ok(metadata.depends.clone());
    }
    // It reads the name of the package from a file of a source package, which there is not.
    fs::create_dir_all(folder.join("debian"))?;
    fs::write(
        folder.join("debian/control"),
        format!("Source: {0}\n\nPackage: {0}\nArchitecture: any\n", metadata.name),
    )?;
    let mut ask = Command::new("dpkg-shlibdeps");
    ask.current_dir(folder).arg("-O").arg("-e").arg(system.join("usr/bin/stagger"));
    let printed = done(&mut ask)?;
    let depends = printed.lines().find_map(|line| line.strip_prefix("shlibs:Depends="));
    Ok(depends.ok_or("dpkg-shlibdeps names no package")?.to_owned())
}

fn control(
    kit: &Kit<'_>,
    metadata: &DebMetadata,
    version: &str,
    architecture: &str,
    depends: &str,
) -> String {
    let DebMetadata { name, maintainer, section, extended_description, .. } = metadata;
    let summary = kit.package.description.as_deref().unwrap_or_default().trim_end_matches('.');
    let more: String =
        extended_description.lines().map(|line| format!(" {}\n", line.trim())).collect();
    format!(
        "Package: {name}\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: {maintainer}\n\
         Section: {section}\nPriority: optional\nDepends: {depends}\nHomepage: {}\n\
         Description: {summary}\n{more}",
        "https://github.com/stagger-rs/stagger",
    )
}
