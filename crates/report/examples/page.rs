//! Plays a scenario that ships and writes its page, and its pictures beside it.
//!
//! `cargo run --features png --example page -- lockstep 50 storm.html`

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::{env, fs};

use stagger_report::{PageOptions, page, pictures};
use stagger_sim::{Named, ThreadPool};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, runs, path] = &arguments[..] else {
        return Err("three arguments: the scenario, the number of runs, the file to write".into());
    };
    let named = Named::find(name).ok_or("no such scenario")?;
    let asked = stagger_sim::StormOptions { runs: Some(runs.parse()?), ..Default::default() };
    let report = named.scenario(&asked)?.run(&ThreadPool::single());
    fs::write(path, page(&report, &PageOptions::default()))?;
    let folder = Path::new(path).with_extension("");
    fs::create_dir_all(&folder)?;
    for picture in pictures(&report, None) {
        fs::write(folder.join(format!("{}.svg", picture.name)), picture.to_svg())?;
        #[cfg(feature = "png")]
        fs::write(folder.join(format!("{}.png", picture.name)), picture.to_png()?)?;
        io::stdout().write_all(picture.to_terminal(100).as_bytes())?;
    }
    Ok(())
}
