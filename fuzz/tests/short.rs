//! A short run of each target, as part of the ordinary tests: its corpus, its samples, and mutations
//! for some seconds. The seeds are the same in each run; `make fuzz` runs others.
//!
//! `CRIVELLO_TEST_SEED=…` begins with another seed.

use fuzz::targets::find;
use fuzz::{FuzzPlan, run};
use std::time::Duration;

/// Duration of the mutations of a target.
const TIME: Duration = Duration::from_secs(2);

#[expect(clippy::print_stdout, reason = "output of a failed test")]
fn run_for_some_seconds(name: &str) {
    let target = find(name).unwrap_or_else(|| panic!("no target is called {name}"));
    let seed = std::env::var("CRIVELLO_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let plan =
        FuzzPlan { seed: seed.unwrap_or(0), time: TIME, mutations_max: u64::MAX, progress: None };
    match run(target, &plan) {
        Ok(summary) => {
            println!("{name}: {summary:?}");
            assert!(summary.n_originals > 0 && summary.n_mutations > 0, "nothing was tried");
        }
        Err(failure) => panic!("{failure}"),
    }
}

macro_rules! targets {
    ($($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                run_for_some_seconds(stringify!($name));
            }
        )+

        #[test]
        fn every_target_has_a_test() {
            let tested = [$(stringify!($name)),+];
            for target in fuzz::targets::ALL {
                assert!(tested.contains(&target.name), "{} has no test", target.name);
            }
        }
    };
}

targets! { url page coding robots sitemap values wire packets state_file warc config expression codes structures export http1 http2 }
