#!/usr/bin/env python3
"""The cost of a place in the code that makes calls: machine code and compile time, beside backon.

Usage: python3 bench/call-sites/measure.py [PLACES]

Builds one crate for each library, once with one place and once with PLACES (41) more or less equal places, each with an
operation and a result type of its own, in the release profile. The difference of the two, less that of the bare awaited
operation, is the cost of the places; the build with one place shows the cost of the library itself. Needs `size` of
binutils. The time is processor time of the compiler and the linker: the best of three builds.
"""

import pathlib
import resource
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALLS = {
    "bare": "fetch{i}()",
    "stagger": "stagger::retry(fetch{i}).when(|error| error.is_busy())",
    "backon": "fetch{i}.retry(backon::ExponentialBuilder::default().with_jitter()).when(|error| error.is_busy())",
}
MANIFEST = """[package]
name = "call-sites"
version = "0.0.0"
edition = "2024"

[dependencies]
backon = "1.6.0"
stagger = {{ path = "{root}/crates/stagger", features = ["tokio"] }}
tokio = {{ version = "1.53", features = ["rt", "time"] }}

[workspace]
"""
HEAD = """#![allow(unused_imports)]
use backon::Retryable as _;
use std::{future::Future, hint::black_box, pin::Pin};
type Boxed = Pin<Box<dyn Future<Output = u64>>>;
struct Item<const N: usize>([u64; N]);
struct Fault(u32);
impl Fault {
    #[inline(never)]
    fn is_busy(&self) -> bool { black_box(self.0) == 3 }
}
#[inline(never)]
async fn leaf(x: u64) -> Result<u64, Fault> {
    tokio::task::yield_now().await;
    if x == black_box(u64::MAX) { Err(Fault(3)) } else { Ok(x) }
}
"""
PLACE = """async fn fetch{i}() -> Result<Item<{n}>, Fault> {{ leaf({i}).await.map(|x| Item([x; {n}])) }}
#[inline(never)]
fn place{i}() -> Boxed {{ Box::pin(async {{ {call}.await.map_or(0, |item| item.0[0]) }}) }}
"""
MAIN = """fn main() {{
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let places: &[fn() -> Boxed] = &[{places}];
    let mut sum = 0;
    for place in places {{ sum += tokio.block_on(place()); }}
    println!("{{sum}}");
}}
"""


def source(library, places):
    """The program with so many places."""
    made = [PLACE.format(i=i, n=i % 7 + 1, call=CALLS[library].format(i=i)) for i in range(places)]
    names = ", ".join(f"place{i}" for i in range(places))
    return HEAD + "".join(made) + MAIN.format(places=names)


def build(folder):
    """Builds the program and returns the seconds of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=folder, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(folder, library, places):
    """Bytes of machine code, and seconds."""
    times = []
    for run in range(4):
        (folder / "src/main.rs").write_text(source(library, places) + f"// {run}\n")
        times.append(build(folder))
    sections = subprocess.run(
        ["size", "-A", folder / "target/release/call-sites"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    text = next(line.split()[1] for line in sections if line.startswith(".text"))
    # The first build may have built the libraries.
    return int(text), min(times[1:])


def main():
    places = int(sys.argv[1]) if len(sys.argv) > 1 else 41
    folder = ROOT / "target/call-sites"
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "Cargo.toml").write_text(MANIFEST.format(root=ROOT))
    shutil.copy(ROOT / "bench/peers/Cargo.lock", folder / "Cargo.lock")
    figures = {
        library: [measured(folder, library, count) for count in (1, places)] for library in CALLS
    }
    print("| library | bytes a place | ms a place | bytes once | ms once |\n| --- | ---: | ---: | ---: | ---: |")
    (bare_once, bare_all) = figures.pop("bare")
    for library, (once, all_) in figures.items():
        cost = [
            ((all_[k] - once[k]) - (bare_all[k] - bare_once[k])) / (places - 1) for k in (0, 1)
        ]
        own = [once[k] - bare_once[k] for k in (0, 1)]
        print(f"| {library} | {cost[0]:.0f} | {cost[1] * 1e3:.0f} | {own[0]} | {own[1] * 1e3:.0f} |")


if __name__ == "__main__":
    main()
