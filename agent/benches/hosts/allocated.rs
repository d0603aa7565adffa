//! Number of bytes that are allocated, without those of RocksDB.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[global_allocator]
static COUNTING: Counting = Counting(AtomicUsize::new(0));

struct Counting(AtomicUsize);

// SAFETY: all is passed on to the system's allocator as it came; counting moves nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller promises what the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        self.0.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Bytes.
pub fn allocated() -> usize {
    COUNTING.0.load(Relaxed)
}
