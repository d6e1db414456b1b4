//! The program for each platform, as an archive with its licences and a checksum beside it.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::kit::{Kit, done};
use super::step::{Step, StepResult};

/// The platforms of a release. Windows is not one: `stagger exec` and the signals of `stagger serve` are Unix's.
const PLATFORMS: [&str; 4] = [
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
];

/// Builds the program for these platforms; for this machine's and those of a release if there are none.
pub(super) fn build(kit: &Kit<'_>, asked: &[String]) -> Result<Vec<Step>, Box<dyn Error>> {
    let host = host()?;
    let others = PLATFORMS.iter().copied().filter(|platform| *platform != host);
    let all = || std::iter::once(host.as_str()).chain(others).collect();
    let platforms: Vec<&str> =
        if asked.is_empty() { all() } else { asked.iter().map(String::as_str).collect() };
    let step = |platform: &&str| {
        let (name, was_asked) = (archive_name(kit, platform), !asked.is_empty());
        let outcome = match missing(platform) {
            Some(reason) if was_asked => StepResult::Failed(reason),
            Some(reason) => StepResult::Skipped(reason),
            None => StepResult::of(archive(kit, platform, &host)),
        };
        Step::new("binary", name, outcome)
    };
    Ok(platforms.iter().map(step).collect())
}

/// The platform of this machine.
pub(super) fn host() -> Result<String, Box<dyn Error>> {
    let version = done(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not name its host")?.to_owned())
}

fn archive_name(kit: &Kit<'_>, platform: &str) -> String {
    format!("stagger-{}-{platform}", kit.package.version)
}

/// The part of Rust that a build for this platform lacks here.
fn missing(platform: &str) -> Option<String> {
    let mut ask = Command::new("rustc");
    ask.args(["--print", "target-libdir", "--target", platform]);
    let is_there = done(&mut ask).is_ok_and(|folder| Path::new(folder.trim()).is_dir());
    (!is_there).then(|| format!("not installed: rustup target add {platform}"))
}

fn archive(kit: &Kit<'_>, platform: &str, host: &str) -> Result<u64, Box<dyn Error>> {
    // Without a target, what the tests have built of build scripts and macros is taken.
    let program = kit.program((platform != host).then_some(platform))?;
    let name = archive_name(kit, platform);
    let folder = kit.out.join(&name);
    fs::create_dir_all(&folder)?;
    fs::copy(program, folder.join("stagger"))?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(kit.root.join(file), folder.join(file))?;
    }
    let bytes = kit.pack(&name, &name)?;
    fs::remove_dir_all(folder)?;
    Ok(bytes)
}
