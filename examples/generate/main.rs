//! Writes the example day, the files under `examples/inbox` and `examples/openings`; and `.env.example` and
//! `docs/settings.md`, which list every setting.
//!
//! `cargo run --example generate`. Deterministic: the committed files are exactly its output, and a test says so. To
//! change the day, change it in [`day`] and run this again; every balance follows from the lines.

#![expect(clippy::print_stdout, reason = "what was written is told to whoever ran it")]

mod books;
mod camt;
mod chance;
mod day;
mod europe;
mod ofx;
mod operating;
mod receivables;
mod settings;

use std::path::Path;

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, bytes) in day::files() {
        let path = root.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, &bytes)?;
        println!("{} bytes  {}", bytes.len(), path.display());
    }
    println!("\nexamples/counterfoil.toml must have:");
    for account in day::accounts() {
        println!("  {}: {}", account.id, books::opening(&account));
    }
    Ok(())
}
