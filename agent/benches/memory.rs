//! Memory of this process, as the system reports it.

/// A line of `/proc/self/status` that is in KiB (`VmHWM:`, `VmRSS:`), in bytes.
pub fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line =
        status.lines().find_map(|line| line.strip_prefix(name)).expect("a line of that name");
    let kib = line.trim().strip_suffix(" kB").and_then(|kib| kib.parse::<u64>().ok());
    kib.expect("a number of KiB") << 10
}
