//! Exactly-once fetching across power cuts. Whatever the system had written to disk, the crawl
//! resumes from its last sync, refuses nothing, and ends with exactly the expected set, each page
//! archived once. The test uses a small ext4 that is shut down without a flush, like xfstests. It
//! needs root and a loop device; elsewhere it is skipped.

use crivello_tests::{PowerDisk, Scene, assert_agreement, seed};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use simweb::{JudgeLimits, Pace, PageKind, Robots, Spec};
use std::thread::sleep;
use std::time::Duration;
use test_size::sized;

const DELAY: Duration = Duration::from_millis(200);
const IP_DELAY: Duration = Duration::from_millis(40);

#[test]
fn power_cuts_lose_nothing_and_archive_nothing_twice() {
    let Some(disk) = PowerDisk::mount(256 << 20) else { return };
    let seed = seed();
    let mut dice = SmallRng::seed_from_u64(seed);
    let spec = Spec::new(seed)
        .size(6, 4, 40)
        .ips(8)
        .latency_ms(0, 20)
        .robots(Robots::standard())
        .portion(0.2, PageKind::Duplicate)
        .portion(0.1, PageKind::Redirect(302));
    let scene = Scene::new(spec)
        .out_in(&disk.path().join("crawl"))
        .delays("200ms", "40ms")
        .set("state.commit-pages-max=8")
        .set("state.sync-interval=300ms")
        .set("state.write-buffers=1MiB")
        .set("state.disk-free-min=1MiB");
    let n_cuts = sized(4, 8);
    for cut in 0..n_cuts {
        let mut child = scene.start();
        let n_requests = scene.web.log().len() + dice.random_range(1..60);
        scene.wait_for_requests(&mut child, n_requests);
        sleep(Duration::from_millis(dice.random_range(0..300)));
        if child.try_wait().expect("waited for").is_some() {
            // On a fast machine the crawl may end before the last cuts.
            assert!(cut >= n_cuts / 2, "cut {cut}: the crawler had ended: {}", scene.log());
            break;
        }
        if dice.random_bool(0.7) {
            disk.write_back(&scene.out().join("state"));
        }
        disk.cut_power();
        child.kill().expect("kill the child");
        let _ = child.wait().expect("waited for");
        disk.power_on();
    }
    let ended = scene.crawl().succeeded();
    assert!(ended.report["resumed"] == true, "{}", ended.report);
    // The number of repeats depends on timing: at most the pages of a sync interval.
    let judge = scene.judge(JudgeLimits::default(), Pace::delays(DELAY, IP_DELAY));
    scene.assert_clean(&judge.allow_repeats(scene.web.log().len() as u64));
    assert_agreement(&scene, &ended);
}
