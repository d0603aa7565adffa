//! Counts of the memory that a thread allocates. They do not include memory of C libraries.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static USED: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static TOTAL: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

impl Counting {
    fn allocated(bytes: usize) {
        // The counters are gone while a thread ends.
        let _ = USED.try_with(|used| {
            used.set(used.get() + bytes as isize);
            let _ = PEAK.try_with(|peak| peak.set(peak.get().max(used.get())));
            let _ = TOTAL.try_with(|total| total.set(total.get().wrapping_add(bytes)));
        });
    }

    fn freed(bytes: usize) {
        let _ = USED.try_with(|used| used.set(used.get() - bytes as isize));
    }
}

// SAFETY: every call is passed on to the system's allocator unchanged; counting allocates nothing,
// because the counters have constant initial values and no destructors.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::allocated(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        Self::freed(layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::freed(layout.size());
        Self::allocated(size);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::allocated(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }
}

/// Memory that a function used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Most bytes in use at once, above those before.
    pub peak: usize,
    /// Bytes allocated in all.
    pub total: usize,
}

/// Runs `f` and returns the memory that this thread allocated meanwhile.
pub fn measure(f: impl FnOnce()) -> MemoryUsage {
    let (used, total) = (USED.get(), TOTAL.get());
    PEAK.set(used);
    f();
    MemoryUsage {
        peak: usize::try_from(PEAK.get() - used).unwrap_or(0),
        total: TOTAL.get().wrapping_sub(total),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn the_peak_and_the_total_are_counted() {
        let usage = measure(|| {
            for _ in 0..10 {
                drop(black_box(vec![0_u8; 1_000]));
            }
            let mut grown = black_box(Vec::<u8>::with_capacity(2_000));
            grown.reserve_exact(3_000);
            black_box(&mut grown);
        });
        assert!((3_000..4_000).contains(&usage.peak), "{usage:?}");
        assert!((15_000..16_000).contains(&usage.total), "{usage:?}");
    }
}
