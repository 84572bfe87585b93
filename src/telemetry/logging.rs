//! Logs: JSON lines for machines, or text for people, on stderr; stdout belongs to what a command was asked for.
//!
//! Each message is counted by level. A panic, wherever it happens, is an event and is counted.

use std::io::IsTerminal;
use std::panic::PanicHookInfo;

use tracing::{Level, Subscriber};
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use super::event;
use super::labels::LogLevel;
use super::metrics::{log_message, panicked};
use crate::settings::{Log, LogFormat};

/// Libraries that would tell what we tell ourselves, in their own words and without an `event`: quiet, unless the settings
/// name them. What is left of sqlx are warnings of an address that it does not understand. Not left are slow statements
/// (a step of a large day is one) and the server's notices (a session that was ended is an error to whoever used it).
const QUIET: [(&str, &str); 3] = [
    ("sqlx", "sqlx=warn,sqlx::query=off,sqlx::postgres::notice=off"),
    ("tokio_cron_scheduler", "tokio_cron_scheduler=error"),
    ("hyper", "hyper=error"),
];

/// Logs could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The level is none.
    #[error("log.level: {0}")]
    Level(#[from] tracing_subscriber::filter::ParseError),
    /// Another subscriber is installed.
    #[error("logs are set up already: {0}")]
    Twice(#[from] tracing_subscriber::util::TryInitError),
}

/// Counts messages by level.
struct Counting;

/// Sets up the logs of this process, and makes an event of each panic. Once a process.
pub fn init(log: &Log) -> Result<(), LoggingError> {
    subscriber(log, std::io::stderr, std::io::stderr().is_terminal())?.try_init()?;
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        // The default hook prints a backtrace where one is asked for.
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            before(panic);
        }
    }));
    Ok(())
}

fn subscriber<W>(log: &Log, writer: W, colours: bool) -> Result<impl Subscriber + Send + Sync, LoggingError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let quiet = QUIET.iter().filter(|(library, _)| !log.level.contains(library)).map(|(_, directives)| *directives);
    let directives: Vec<&str> = quiet.chain([log.level.as_str()]).collect();
    let filter = EnvFilter::try_new(directives.join(","))?;
    Ok(tracing_subscriber::registry().with(filter).with(Counting).with(shape(log.format, writer, colours)))
}

fn shape<S, W>(format: LogFormat, writer: W, colours: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer().with_writer(writer);
    match format {
        LogFormat::Json => layer.json().flatten_event(true).with_span_list(false).boxed(),
        LogFormat::Text => layer.with_target(false).with_ansi(colours).boxed(),
    }
}

/// A panic as an event. Its message is the program's own and holds nobody's data: what comes from input is an error,
/// never a panic.
fn tell(panic: &PanicHookInfo<'_>) {
    panicked();
    let thread = std::thread::current();
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let message = panic.payload_as_str().unwrap_or_default();
    tracing::error!(event = event::PANIC, thread = thread.name(), place, message, "something panicked");
}

// === impl Counting ===

impl<S: Subscriber> Layer<S> for Counting {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        match *event.metadata().level() {
            Level::ERROR => log_message(LogLevel::Error),
            Level::WARN => log_message(LogLevel::Warn),
            Level::INFO => log_message(LogLevel::Info),
            Level::DEBUG | Level::TRACE => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(format: LogFormat, level: &str, log: impl FnOnce()) -> String {
        let paper = Paper::default();
        let at_hand = paper.clone();
        let settings = Log { format, level: level.to_owned() };
        let subscriber = subscriber(&settings, move || at_hand.clone(), false).unwrap();
        tracing::subscriber::with_default(subscriber, log);
        let bytes = paper.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_message_is_one_line_of_json_with_its_event_and_fields_at_the_top() {
        let text = written(LogFormat::Json, "info", || {
            tracing::info!(event = event::TERM_CHANGED, token = 7, owner = "node-2:u", "a newer term is installed");
        });
        let json: serde_json::Value = serde_json::from_str(text.trim()).unwrap();
        assert_eq!(json["event"], "leader.term_changed");
        assert_eq!(json["token"], 7);
        assert_eq!(json["message"], "a newer term is installed");
        assert_eq!(json["level"], "INFO");
    }

    #[test]
    fn a_library_that_chatters_is_not_heard_unless_the_settings_ask_for_it() {
        let chatter = || {
            tracing::warn!(target: "sqlx::query", "slow statement: execution time exceeded alert threshold");
            tracing::warn!(target: "sqlx::postgres::notice", "terminating connection because of crash of another process");
        };
        assert_eq!(written(LogFormat::Json, "info", chatter), "");
        assert_eq!(written(LogFormat::Json, "debug", chatter), "");
        assert_eq!(written(LogFormat::Json, "info,sqlx=info", chatter).lines().count(), 2);
        let address = || tracing::warn!(target: "sqlx_postgres::options", "ignoring unrecognized connect parameter");
        assert_ne!(written(LogFormat::Json, "info", address), "");
    }

    #[test]
    fn text_for_people_has_no_colours_where_nobody_sees_them() {
        let text = written(LogFormat::Text, "info", || tracing::warn!(dependency = "redis", "it does not answer"));
        assert!(text.contains("WARN") && text.contains("it does not answer dependency=\"redis\""), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
