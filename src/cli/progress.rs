//! A line on the terminal for work that takes longer than a second.

use std::io::{IsTerminal, stderr};
use std::sync::mpsc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What takes no longer than this is not worth a line.
const PATIENCE: Duration = Duration::from_secs(1);

/// How far the work is. Cheap to tell, whether anybody looks or not.
#[derive(Debug)]
pub(super) struct Progress(ProgressBar);

// === impl Progress ===

impl Progress {
    /// Does the work with a line that counts to `steps`. The line appears on stderr, if that is a terminal, after a
    /// second, and is gone when the work is done.
    pub(super) fn during<T>(steps: usize, work: impl FnOnce(&Self) -> T) -> T {
        let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {pos} of {len}") {
            bar.set_style(style);
        }
        let progress = Self(bar);
        if !stderr().is_terminal() {
            return work(&progress);
        }
        let (done, over) = mpsc::channel::<()>();
        let bar = progress.0.clone();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // The other end is only ever dropped; until then this waits, for the work and not for time.
                if over.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(Duration::from_millis(120));
                    let _ = over.recv();
                    bar.finish_and_clear();
                }
            });
            let answer = work(&progress);
            drop(done);
            answer
        })
    }

    /// Says what is being done.
    pub(super) fn say(&self, what: &'static str) {
        self.0.set_message(what);
    }

    /// One step was made.
    pub(super) fn step(&self) {
        self.0.inc(1);
    }
}
