//! What a replica answers over HTTP: `/metrics`, `/livez`, `/readyz`, `/status`. Reading only, and no secrets.
//!
//! Three questions, kept apart. *Live*: is this process beyond help, so that killing it helps? Never a question to
//! Redis or Postgres: their outage must not restart the fleet. *Ready*: could this replica do its part? True for
//! followers: readiness that hangs on leadership lets no rolling update finish. *Status*: what a person wants to know.
//!
//! The answers come from a [`StatusSource`], asked anew by each request.

mod probe;
mod status;

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use probe::{Answer, Health, ask, probe, reachable};
pub use status::{Check, RunStatus, Status, StatusSource};

use crate::telemetry::Telemetry;

/// What the HTTP room can fail with.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is not to be had.
    #[error("http.listen {listen}: {source}. Is another process listening there?")]
    Bind {
        /// The address.
        listen: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The server stopped of itself.
    #[error("the HTTP server stopped: {0}")]
    Serve(std::io::Error),
}

/// What every request is answered from.
#[derive(Clone)]
struct Replica {
    source: Arc<dyn StatusSource>,
    telemetry: Telemetry,
}

/// Takes the address. Before anything else is started: a second worker on one address must fail at once.
pub async fn bind(listen: SocketAddr) -> Result<TcpListener, HttpError> {
    TcpListener::bind(listen).await.map_err(|source| HttpError::Bind { listen, source })
}

/// Answers until `stop` is cancelled; then finishes the requests that it is answering.
pub async fn serve(
    listener: TcpListener,
    source: Arc<dyn StatusSource>,
    telemetry: Telemetry,
    stop: CancellationToken,
) -> Result<(), HttpError> {
    let app = router(source, telemetry);
    axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned()).await.map_err(HttpError::Serve)
}

fn router(source: Arc<dyn StatusSource>, telemetry: Telemetry) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/livez", get(livez))
        .route("/healthz", get(livez))
        .route("/readyz", get(readyz))
        .route("/status", get(status))
        .with_state(Replica { source, telemetry })
}

async fn metrics(State(replica): State<Replica>) -> Response {
    let page = replica.telemetry.render(&replica.source.status().local());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page).into_response()
}

async fn livez(State(replica): State<Replica>) -> Response {
    match replica.source.status().dead() {
        None => (StatusCode::OK, "ok\n").into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn readyz(State(replica): State<Replica>, RawQuery(query): RawQuery) -> Response {
    let status = replica.source.status();
    let verbose = query.is_some_and(|query| query.split('&').any(|word| word.split('=').next() == Some("verbose")));
    let checks = status.checks();
    let ready = checks.iter().all(|check| check.fault.is_none());
    let mut body = String::new();
    for check in &checks {
        // A String takes whatever is written to it.
        let _ = match &check.fault {
            Some(why) => writeln!(body, "[-] {}: {why}", check.name),
            None if verbose => writeln!(body, "[+] {}", check.name),
            None => Ok(()),
        };
    }
    if let Some(waits) = status.waits.filter(|_| verbose) {
        let _ = writeln!(body, "[~] election: {waits}");
    }
    if ready {
        body.push_str("ok\n");
    }
    let code = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, body).into_response()
}

async fn status(State(replica): State<Replica>) -> Json<Status> {
    Json(replica.source.status())
}

#[cfg(test)]
mod tests;
