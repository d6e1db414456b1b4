//! The time to make an id, alone and in batches, by one thread and by several.
//!
//! `cargo bench -p stagger-dispatch --bench ids`
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![expect(clippy::print_stdout, reason = "the report of a bench target is what it prints")]
#![expect(clippy::unwrap_used, reason = "a bench that fails is to stop")]
#![expect(clippy::cast_precision_loss, reason = "counts of at most a million")]

use std::thread;
use std::time::Instant;

use stagger::Instant as Time;
use stagger_dispatch::IdGenerator;

/// Ids that each thread makes in one measurement.
const IDS: usize = 400_000;

fn main() {
    println!("{:>7} {:>7} {:>12}", "threads", "batch", "ns an id");
    for threads in [1, 2] {
        for batch in [1, 10, 100, 1_000] {
            println!("{threads:>7} {batch:>7} {:>12.1}", measure(threads, batch));
        }
    }
}

/// Wall time over all ids made.
fn measure(threads: usize, batch: usize) -> f64 {
    let (id_generator, now) = (IdGenerator::default(), Time::from_nanos(1_700_000_000_000_000_000));
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                (0..IDS / batch).for_each(|_| drop(id_generator.make_many(now, batch).unwrap()));
            });
        }
    });
    begun.elapsed().as_nanos() as f64 / (threads * IDS) as f64
}
