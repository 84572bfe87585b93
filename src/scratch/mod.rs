//! Throw-away servers on free loopback ports, for the tests and for `counterfoil demo`: real ones, never imitations.
//!
//! A server must not outlive whoever started it, and a test process ends without dropping its statics, or is killed.
//! So each server runs under a small shell that holds the reading end of a pipe: when the pipe closes, for whatever
//! reason, the shell ends the server and removes its folder. A signal sent to the terminal's group reaches neither.

use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub mod hold;
pub mod postgres;
pub mod redis;

/// Why a throw-away server could not be had. The sentence says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    /// The server's programs are not on this machine.
    #[error("{what} was not found. {install}")]
    NotInstalled {
        /// What was looked for, and where.
        what: String,
        /// What to install.
        install: &'static str,
    },
    /// A file, a folder, a port or a process could not be had.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The server started and ended, or never answered.
    #[error("{what} did not come up. Its last words:\n{log}")]
    NotUp {
        /// Which server.
        what: String,
        /// The end of its log.
        log: String,
    },
    /// The server refused what the start needs of it.
    #[error("{what}: {source}")]
    Sql {
        /// What was tried.
        what: String,
        /// What Postgres said.
        source: sqlx::Error,
    },
    /// The schema could not be made.
    #[error(transparent)]
    Schema(#[from] crate::db::schema::SchemaError),
}

/// A folder of its own under the system's temporary folder, removed when dropped.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

/// The user that a server runs as, where it must not be ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    uid: u32,
    gid: u32,
}

/// How a server is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// SIGQUIT: at once, what Postgres calls an immediate shutdown.
    Quit,
    /// SIGTERM: in order.
    Term,
    /// SIGKILL: no farewell.
    Kill,
}

/// A running server under its guardian shell. Ends when dropped, stopped, or when this process ends in any way.
#[derive(Debug)]
pub struct Server {
    guardian: Child,
    folder: Folder,
}

/// Ends the server when its standard input closes, or tells that the server ended by itself (the file `ended`).
/// It asks until it is obeyed, since a server that is still being made hears nothing yet; and after ten seconds kills.
/// $1 the signal to end it with, $2 its folder, then the command.
const GUARDIAN: &str = r#"
signal=$1 root=$2; shift 2
exec 3<&0
"$@" </dev/null 3<&- >>"$root/log" 2>&1 &
server=$!
echo "$server" >"$root/pid"
trap '' INT HUP TERM
{
    read -r _ <&3
    tries=0
    until [ -e "$root/ended" ]; do
        [ $((tries += 1)) -lt 100 ] || signal=KILL
        kill "-$signal" "$server"; kill -CONT "$server"
        sleep 0.1
    done
} 2>/dev/null &
reader=$!
wait "$server"
: >"$root/ended"
wait "$reader"
rm -rf "$root"
"#;

/// A free TCP port of the loopback address. Another process may take it before the server does: a start that fails on
/// its port is tried again on another.
pub fn free_port() -> Result<u16, ScratchError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|source| ScratchError::Io { what: "no free port on 127.0.0.1".to_owned(), source })
}

/// The first of the programs called `name` in `PATH`, then in `more`.
pub fn find_program(name: &str, more: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(more.iter().cloned())
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

// === impl Folder ===

impl Folder {
    /// A new folder `counterfoil-<name>-…`, for its user's eyes only.
    pub fn new(name: &str, user: Option<User>) -> Result<Self, ScratchError> {
        let path = std::env::temp_dir().join(format!("counterfoil-{name}-{}", uuid::Uuid::new_v4().simple()));
        let told = |source| ScratchError::Io { what: format!("cannot make the folder {}", path.display()), source };
        std::fs::DirBuilder::new().mode(0o700).create(&path).map_err(told)?;
        if let Some(user) = user {
            chown(&path, Some(user.uid), Some(user.gid)).map_err(told)?;
        }
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Gone already where the guardian was first.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

// === impl User ===

impl User {
    /// `None` for an ordinary user; for root, the user `name`, or `nobody` where there is none of that name.
    pub fn unprivileged(name: &str) -> Result<Option<Self>, ScratchError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let told = |source| ScratchError::Io { what: "cannot read /etc/passwd".to_owned(), source };
        let passwd = std::fs::read_to_string("/etc/passwd").map_err(told)?;
        let find = |wanted: &str| {
            passwd.lines().find_map(|line| {
                let mut fields = line.split(':');
                let (name, _, uid, gid) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
                (name == wanted).then_some(Self { uid: uid.parse().ok()?, gid: gid.parse().ok()? })
            })
        };
        find(name).or_else(|| find("nobody")).map(Some).ok_or_else(|| ScratchError::NotInstalled {
            what: format!("a user {name:?} or \"nobody\" in /etc/passwd"),
            install: "The server refuses to run as root: add such a user, or run as an ordinary user.",
        })
    }
}

impl User {
    /// Gives it a file.
    pub fn own(self, path: &Path) -> Result<(), ScratchError> {
        let told = |source| ScratchError::Io { what: format!("cannot give away {}", path.display()), source };
        chown(path, Some(self.uid), Some(self.gid)).map_err(told)
    }
}

// === impl Ending ===

impl Ending {
    fn signal(self) -> &'static str {
        match self {
            Self::Quit => "QUIT",
            Self::Term => "TERM",
            Self::Kill => "KILL",
        }
    }
}

// === impl Server ===

impl Server {
    /// How often, and how long apart, an outside condition is looked at before we give up: 30 s in all.
    pub(crate) const LOOKS: u32 = 1500;
    pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(20);

    /// Starts `program` in its folder; everything it says goes to `log` there.
    pub fn start(
        folder: Folder,
        user: Option<User>,
        ending: Ending,
        program: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Self, ScratchError> {
        let mut command = Command::new("/bin/sh");
        command
            .args([OsStr::new("-c"), OsStr::new(GUARDIAN), OsStr::new("counterfoil-scratch")])
            .args([OsStr::new(ending.signal()), folder.path().as_os_str(), program.as_os_str()])
            .args(arguments.into_iter().map(|argument| OsString::from(argument.as_ref())))
            .current_dir(folder.path())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(user) = user {
            command.uid(user.uid).gid(user.gid);
        }
        let guardian = command
            .spawn()
            .map_err(|source| ScratchError::Io { what: format!("cannot start {}", program.display()), source })?;
        Ok(Self { guardian, folder })
    }

    /// The server's own process id, once the guardian has started it.
    pub fn pid(&self) -> Option<i32> {
        std::fs::read_to_string(self.folder.path().join("pid")).ok()?.trim().parse().ok()
    }

    /// Whether the server ended by itself.
    pub fn has_ended(&self) -> bool {
        self.folder.path().join("ended").exists()
    }

    /// Its folder; removed with the server.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The last lines of what it said.
    pub fn last_words(&self) -> String {
        let log = std::fs::read(self.folder.path().join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }

    /// Ends the server and waits until it is gone and its folder removed.
    pub async fn stop(mut self) {
        drop(self.guardian.stdin.take());
        for _ in 0..Self::LOOKS {
            if !matches!(self.guardian.try_wait(), Ok(None)) {
                return;
            }
            tokio::time::sleep(Self::LOOK_EVERY).await;
        }
    }
}

impl Drop for Server {
    /// As [`Server::stop`], for who cannot wait otherwise: blocks for some milliseconds, ten seconds at the very most.
    fn drop(&mut self) {
        drop(self.guardian.stdin.take());
        for _ in 0..500 {
            if !matches!(self.guardian.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Self::LOOK_EVERY);
        }
    }
}
