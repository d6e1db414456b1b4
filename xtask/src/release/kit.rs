//! The folder of a release: built programs, archives and checksums.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};
use xtask_workbench::{Package, Workspace, cargo};

/// The crate of the program.
const PROGRAM: &str = "stagger-cli";

/// The folder of a release, and what is needed to fill it.
#[derive(Debug)]
pub(super) struct Kit<'a> {
    pub(super) out: PathBuf,
    pub(super) root: &'a Path,
    /// The crate of the program.
    pub(super) package: &'a Package,
    pub(super) profile: &'a str,
    target_directory: &'a Path,
}

impl<'a> Kit<'a> {
    /// An empty one, in `out` or in the target folder.
    pub(super) fn new(
        workspace: &'a Workspace,
        out: Option<&Path>,
        profile: &'a str,
    ) -> Result<Self, Box<dyn Error>> {
        let (root, target_directory) = (&workspace.workspace_root, &workspace.target_directory);
        let out = out.map_or_else(|| target_directory.join("kit"), Path::to_owned);
        fs::create_dir_all(&out)?;
        let package = workspace.packages.iter().find(|package| package.name == PROGRAM);
        let package = package.ok_or("the crate of the program is missing")?;
        Ok(Self { out: fs::canonicalize(out)?, root, package, profile, target_directory })
    }

    /// Builds the program for a platform, this machine's if it is `None`; the reason if it fails.
    pub(super) fn program(&self, target: Option<&str>) -> Result<PathBuf, Box<dyn Error>> {
        let mut build = cargo();
        build.current_dir(self.root).args(["build", "--quiet", "--locked", "--package", PROGRAM]);
        build.args(["--bin", "stagger", "--all-features", "--profile", self.profile]);
        build.args(target.map(|target| format!("--target={target}")));
        done(&mut build)?;
        let folder = self.target_directory.join(target.unwrap_or_default());
        Ok(folder.join(self.profile_folder()).join("stagger"))
    }

    /// A file that is built, by the path that metadata has for it below `target/`: `release` stands there for
    /// the profile.
    pub(super) fn built(&self, path: &str) -> PathBuf {
        let path = path
            .strip_prefix("release/")
            .map_or_else(|| path.to_owned(), |below| format!("{}/{below}", self.profile_folder()));
        self.target_directory.join(path)
    }

    fn profile_folder(&self) -> &str {
        if self.profile == "dev" { "debug" } else { self.profile }
    }

    /// Packs a folder of the kit as `NAME.tar.gz`, writes its checksum beside it, and returns the
    /// size of the archive.
    pub(super) fn pack(&self, folder: &str, name: &str) -> Result<u64, Box<dyn Error>> {
        let archive = format!("{name}.tar.gz");
        done(Command::new("tar").current_dir(&self.out).args(["-czf", &archive, folder]))?;
        self.checksum(&archive)
    }

    /// Writes the checksum of a file of the kit beside it, and returns the size of the file.
    pub(super) fn checksum(&self, file: &str) -> Result<u64, Box<dyn Error>> {
        let bytes = fs::read(self.out.join(file))?;
        let sum: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(self.out.join(format!("{file}.sha256")), format!("{sum}  {file}\n"))?;
        Ok(u64::try_from(bytes.len())?)
    }
}

/// Runs a command, and returns what it printed. What it complained about is the error.
pub(super) fn done(command: &mut Command) -> Result<String, Box<dyn Error>> {
    let out = command.output().map_err(|error| {
        format!("{} cannot be run: {error}", command.get_program().to_string_lossy())
    })?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&out.stderr);
    let lines: Vec<&str> = complaint.lines().filter(|line| !line.trim().is_empty()).collect();
    let first = lines.iter().position(|line| line.starts_with("error")).unwrap_or_default();
    Err(lines[first..].iter().take(3).map(|line| line.trim()).collect::<Vec<_>>().join(" ").into())
}
