//! Threads that yield to others.

/// Nice value of the thread beyond that of the others. It then has a quarter of the time that another thread has on a
/// processor that both want: less, and a crawl that takes all processors would outrun it.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// Lowers the priority of this thread, for work that may wait. Only Linux has one for each thread.
pub fn lower_priority() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE);
}
