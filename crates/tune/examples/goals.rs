//! The goals of the search over random models, one model a line, with tabs between: number, kind of outage, whether
//! the recommended policy is worse than `choose`, its verdict against the AWS SDKs' defaults and against
//! Envoy's, its mean cost minus that of `choose` and minus that of the closest vendor, and its name. The last
//! line has the seconds.
//!
//! `cargo run --release -p stagger-tune --example goals [MODELS] [SEED]`
#![allow(clippy::print_stdout, reason = "an example")]

use std::num::NonZeroUsize;
use std::time::Instant;

use stagger_sim::ThreadPool;

#[path = "../goals/models.rs"]
mod models;

use models::{RandomModel, verdict};

/// Events of one search, about a quarter of those of the command; large models take more.
const EVENTS: u64 = 16_000_000;

#[expect(clippy::disallowed_methods, reason = "it measures itself")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let began = Instant::now();
    let mut arguments = std::env::args().skip(1);
    let count: u32 = arguments.next().map_or(Ok(20), |count| count.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let pool = ThreadPool::new(threads);
    for number in 0..count {
        let random = RandomModel::draw(seed, number, &pool)?;
        let kind = random.kind;
        let grade = random.grade(seed, EVENTS, &pool)?;
        let worse = grade.is_worse_than_choose(count);
        let (aws, envoy) = (verdict(&grade.against_aws), verdict(&grade.against_envoy));
        let vendors = grade.against_aws.iter().chain(&grade.against_envoy);
        let closest = vendors.map(|one| one.mean).fold(f64::NEG_INFINITY, f64::max);
        let chosen = grade.against_choose.mean;
        let name = grade.recommended;
        println!("{number}\t{kind}\t{worse}\t{aws}\t{envoy}\t{chosen:.3}\t{closest:.3}\t{name}");
    }
    println!("seconds\t{:.1}", began.elapsed().as_secs_f64());
    Ok(())
}
