//! Looks at every replica's `/status`, again and again, and remembers who said that it leads, and when.

use std::cell::RefCell;
use std::time::Duration;

use counterfoil::clock::{Boot, Clock, SystemClock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::site::{Place, REPLICAS};

const LOOK_EVERY: Duration = Duration::from_millis(40);
/// An answer that took longer says too little about when it was true.
const PROMPT: Duration = Duration::from_millis(150);
/// Two looks further apart than this do not bound what was between them.
const CLOSE: Duration = Duration::from_millis(400);

/// A stretch in which every look at a replica found it leading: from the first answer to the last question.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reign {
    pub(crate) replica: usize,
    pub(crate) from: Boot,
    pub(crate) to: Boot,
}

/// An answer that came promptly.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) at: Boot,
    pub(crate) leads: bool,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    reigns: RefCell<Vec<Reign>>,
    looks: RefCell<Vec<Look>>,
}

// === impl Seen ===

impl Seen {
    /// Looks for as long as it is polled.
    pub(crate) async fn watch(&self, place: &Place) {
        let one = |at: usize| async move {
            let mut open: Option<usize> = None;
            loop {
                let asked = SystemClock.now();
                let leads = tokio::time::timeout(PROMPT, leads(&place.http[at])).await;
                let told = SystemClock.now();
                if let Ok(Ok(leads)) = leads {
                    self.looks.borrow_mut().push(Look { at: told, leads });
                }
                match leads {
                    Ok(Ok(true)) => {
                        let mut reigns = self.reigns.borrow_mut();
                        if let Some(open) = open.filter(|open| asked.since(reigns[*open].to) <= CLOSE) {
                            reigns[open].to = asked;
                        } else {
                            open = Some(reigns.len());
                            reigns.push(Reign { replica: at, from: told, to: told });
                        }
                    }
                    Ok(Ok(false) | Err(_)) => open = None,
                    Err(_) => {}
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        let (first, second, third) = (one(0), one(1), one(2));
        const { assert!(REPLICAS == 3) };
        tokio::join!(first, second, third);
    }

    pub(crate) fn reigns(&self) -> Vec<Reign> {
        self.reigns.borrow().clone()
    }

    /// Every prompt answer, by its time.
    pub(crate) fn looks(&self) -> Vec<Look> {
        self.looks.borrow().clone()
    }

    /// Who was seen leading within this time before now.
    pub(crate) fn leader(&self, within: Duration) -> Option<usize> {
        let now = SystemClock.now();
        let reigns = self.reigns.borrow();
        reigns
            .iter()
            .filter(|reign| now.since(reign.to) <= within)
            .max_by_key(|reign| reign.to)
            .map(|reign| reign.replica)
    }
}

async fn leads(http: &str) -> Result<bool, std::io::Error> {
    let mut stream = TcpStream::connect(http).await?;
    stream.write_all(b"GET /status HTTP/1.1\r\nHost: chaos\r\nConnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.contains("\"role\":\"leader\""))
}
