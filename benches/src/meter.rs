//! What a process can tell of itself: CPU time, peak memory, threads.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The CPU time of this process so far, of all its threads, user and system.
pub(crate) fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::from_secs(seconds)
        + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or_default())
}

/// The most memory that this process ever had resident, in KiB.
pub(crate) fn peak_kib() -> u64 {
    status("self", "VmHWM:")
}

/// The same of another process; 0 when it is gone.
pub(crate) fn peak_kib_of(pid: Option<u32>) -> u64 {
    pid.map_or(0, |pid| status(&pid.to_string(), "VmHWM:"))
}

/// The memory that another process has resident, in KiB; 0 when it is gone.
pub(crate) fn resident_kib_of(pid: u32) -> u64 {
    status(&pid.to_string(), "VmRSS:")
}

/// How many threads this process has.
pub(crate) fn threads() -> u64 {
    status("self", "Threads:")
}

/// The CPU time of another process's first thread; zero when it is gone.
pub(crate) fn cpu_of(pid: Option<u32>) -> Duration {
    let text = pid.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok());
    let nanos = text.and_then(|text| text.split_whitespace().next()?.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

/// Microseconds with their fraction.
pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The median; 0 of nothing.
pub(crate) fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times.get(times.len() / 2).copied().map_or(0.0, micros)
}

fn status(process: &str, member: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix(member));
    let number = value.and_then(|value| value.split_whitespace().next()?.parse().ok());
    number.unwrap_or_default()
}
