//! The process as the kernel sees it, read from `/proc` at each scrape. Where there is no `/proc`, there are no such
//! metrics.

use std::fs;

/// What one process uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    /// When it started: milliseconds since the epoch.
    pub(super) start_ms: u64,
    /// Time on a processor, user and system, in milliseconds.
    pub(super) cpu_ms: u64,
    /// Memory in use.
    pub(super) resident_bytes: u64,
    /// Open file descriptors.
    pub(super) open_fds: u64,
}

/// This process, now.
pub(super) fn usage() -> Option<Usage> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let open_fds = u64::try_from(fs::read_dir("/proc/self/fd").ok()?.count()).ok()?;
    let page = u64::try_from(rustix::param::page_size()).ok()?;
    parse(&stat, &boot, rustix::param::clock_ticks_per_second(), page, open_fds)
}

/// The figures out of the kernel's text. `stat` has the command's name in brackets, which may hold anything, brackets
/// and blanks included: the fields are counted from the last `)`, where the third of proc(5) follows.
fn parse(stat: &str, boot: &str, ticks_per_second: u64, page_bytes: u64, open_fds: u64) -> Option<Usage> {
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let boot_seconds: u64 = boot.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    let ms = |ticks: u64| ticks.checked_mul(1000)?.checked_div(ticks_per_second);
    Some(Usage {
        start_ms: boot_seconds.checked_mul(1000)?.checked_add(ms(field(22)?)?)?,
        cpu_ms: ms(field(14)?.checked_add(field(15)?)?)?,
        resident_bytes: field(24)?.checked_mul(page_bytes)?,
        open_fds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_name_with_brackets_and_blanks_does_not_shift_the_fields() {
        let stat = "7 (odd) name 9) S 1 7 7 0 -1 0 0 0 0 0 250 50 0 0 20 0 3 0 1200 999 42 0";
        let usage = parse(stat, "cpu 1 2\nbtime 1000\nprocesses 3\n", 100, 4096, 11);
        assert_eq!(usage, Some(Usage { start_ms: 1_012_000, cpu_ms: 3000, resident_bytes: 42 * 4096, open_fds: 11 }));
    }

    #[test]
    fn a_text_that_is_cut_short_gives_no_figures_rather_than_wrong_ones() {
        assert_eq!(parse("7 (name) S 1 7", "btime 1000\n", 100, 4096, 11), None);
    }
}
