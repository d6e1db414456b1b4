#!/usr/bin/env python3
"""The cost of a place in the code that makes calls: machine code and compile time, beside backon.

Usage: python3 bench/call-sites/measure.py [PLACES | --check]

Builds one crate for each library, once with one place and once with PLACES (41) more or less equal places, each with an
operation and a result type of its own, in the release profile. The difference of the two, less that of the bare awaited
operation, is the cost of the places; the build with one place shows the cost of the library itself. Needs `size` of
binutils. The time is processor time of the compiler and the linker: the best of three builds of each, in turns.

`--check` measures nothing: it builds and runs the program of stagger in the dev profile, and checks the arithmetic. The
test command runs it.
"""

import os
import pathlib
import resource
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target/call-sites"
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
tokio = {{ version = "1.53", features = ["rt", "time"] }}
{library}

[workspace]
"""
LIBRARIES = {
    "bare": "",
    "stagger": f'stagger = {{ path = "{ROOT}/crates/stagger", features = ["tokio"] }}',
    "backon": 'backon = "1.6.0"',
}
IMPORTS = {"backon": "use backon::Retryable as _;\n"}
HEAD = """#![allow(dead_code)]
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
    return HEAD + IMPORTS.get(library, "") + "".join(made) + MAIN.format(places=names)


def write(folder, library, source):
    """Writes the crate of this library."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "Cargo.toml").write_text(MANIFEST.format(library=LIBRARIES[library]))
    shutil.copy(ROOT / "bench/peers/Cargo.lock", folder / "Cargo.lock")
    (folder / "src/main.rs").write_text(source)


def cargo(folder, *arguments):
    """Runs cargo with one target folder for all libraries, whatever the caller's is; its output."""
    environment = os.environ | {"CARGO_TARGET_DIR": str(FOLDER / "target")}
    command = ["cargo", *arguments, "--quiet"]
    return subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def build(folder):
    """Builds the program and returns the seconds of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    cargo(folder, "build", "--release")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def text_bytes(sections):
    """The bytes of machine code, by the output of `size -A`."""
    return int(next(line.split()[1] for line in sections.splitlines() if line.startswith(".text")))


def measured(programs):
    """Bytes of machine code and seconds of each program: of a library, with so many places."""
    times = {program: [] for program in programs}
    for run in range(4):
        # In turns, so that a busy moment of the machine meets all alike.
        for library, places in programs:
            folder = FOLDER / library
            write(folder, library, source(library, places) + f"// {places}, {run}\n")
            times[library, places].append(build(folder))
            if run == 3:
                program = FOLDER / "target/release/call-sites"
                sections = subprocess.run(["size", "-A", program], check=True, capture_output=True, text=True).stdout
                times[library, places].append(text_bytes(sections))
    # The first build may have built the libraries.
    return {program: (seen[-1], min(seen[1:-1])) for program, seen in times.items()}


def table(figures, places):
    """The costs over the bare operation: of a place, and once."""
    rows = ["| library | bytes a place | ms a place | bytes once | ms once |", "| --- | ---: | ---: | ---: | ---: |"]
    bare_once, bare_all = figures["bare", 1], figures["bare", places]
    for library in [library for library in CALLS if library != "bare"]:
        once, all_ = figures[library, 1], figures[library, places]
        cost = [((all_[k] - once[k]) - (bare_all[k] - bare_once[k])) / (places - 1) for k in (0, 1)]
        own = [once[k] - bare_once[k] for k in (0, 1)]
        rows.append(f"| {library} | {cost[0]:.0f} | {cost[1] * 1e3:.0f} | {own[0]} | {own[1] * 1e3:.0f} |")
    return "\n".join(rows)


def check():
    """Builds and runs the program of stagger with three places, and checks the arithmetic on figures of our own."""
    folder = FOLDER / "stagger"
    write(folder, "stagger", source("stagger", 3))
    answer = cargo(folder, "run")
    # Place i answers i.
    assert answer == "3\n", f"the program with three places printed {answer!r}"
    assert text_bytes("prog  :\n.init 27 4096\n.text 1234 8192\n") == 1234
    figures = {("bare", 1): (100, 1.0), ("bare", 3): (120, 1.2)}
    figures |= {("stagger", 1): (150, 1.5), ("stagger", 3): (210, 1.8)}
    figures |= {("backon", 1): (110, 1.1), ("backon", 3): (190, 1.7)}
    rows = table(figures, 3).splitlines()[2:]
    assert rows == ["| stagger | 20 | 50 | 50 | 500 |", "| backon | 30 | 200 | 10 | 100 |"], rows
    print("the program of three places runs, and the arithmetic holds")


def main():
    if sys.argv[1:] == ["--check"]:
        return check()
    places = int(sys.argv[1]) if len(sys.argv) > 1 else 41
    programs = [(library, count) for library in CALLS for count in (1, places)]
    print(table(measured(programs), places))


if __name__ == "__main__":
    main()
