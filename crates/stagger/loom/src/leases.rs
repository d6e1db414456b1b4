//! No order of threads grants a leased permit twice, or loses one that is given back.

use loom::sync::Arc;
use loom::thread;

use crate::permits::Permits;

const PREEMPTIONS: usize = 3;

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(check);
}

fn leased(count: u64) -> Arc<Permits> {
    let permits = Permits::new();
    permits.put(count);
    Arc::new(permits)
}

/// Does this in another thread.
fn aside<T: 'static>(
    permits: &Arc<Permits>,
    work: impl FnOnce(&Permits) -> T + 'static,
) -> thread::JoinHandle<T> {
    let permits = Arc::clone(permits);
    thread::spawn(move || work(&permits))
}

#[test]
fn one_permit_is_granted_to_one_of_three() {
    model(|| {
        let permits = leased(1);
        let others = [(); 2].map(|()| aside(&permits, |it| it.take(1).is_some()));
        let mut granted = u32::from(permits.take(1).is_some());
        for other in others {
            granted += u32::from(other.join().expect("no panic"));
        }
        assert_eq!((granted, permits.count()), (1, 0));
    });
}

#[test]
fn a_dear_retry_takes_its_whole_price_or_nothing() {
    model(|| {
        let permits = leased(3);
        let dear = aside(&permits, |it| it.take(2).map_or(0, |_| 2));
        let other = aside(&permits, |it| it.take(2).map_or(0, |_| 2));
        let cheap = permits.take(1).map_or(0, |_| 1);
        let taken = cheap + dear.join().expect("no panic") + other.join().expect("no panic");
        assert_eq!(taken + permits.count(), 3);
        assert!(taken >= 2, "not both were refused");
    });
}

#[test]
fn a_lease_that_arrives_and_a_refund_are_both_there() {
    model(|| {
        let permits = leased(1);
        let lease = aside(&permits, |it| it.put(2));
        // One that no attempt followed.
        let refund = aside(&permits, |it| {
            if it.take(1).is_some() {
                it.put(1)
            }
        });
        let taken = u64::from(permits.take(1).is_some());
        lease.join().expect("no panic");
        refund.join().expect("no panic");
        assert_eq!(taken + permits.count(), 3);
    });
}

#[test]
fn what_goes_back_at_the_end_is_granted_to_nobody_here() {
    model(|| {
        let permits = leased(2);
        let call = aside(&permits, |it| u64::from(it.take(1).is_some()));
        let refund = aside(&permits, |it| it.put(1));
        let returned = permits.take_all();
        let taken = call.join().expect("no panic");
        refund.join().expect("no panic");
        assert_eq!(returned + taken + permits.count(), 3);
    });
}
