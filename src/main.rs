//! The command line: parse, call one command, turn its outcome into an exit code.

use std::process::ExitCode;

use clap::Parser;
use counterfoil::cli::{Cli, Exit};

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.run() {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("counterfoil: {error:#}");
            Exit::of_error(&error).into()
        }
    }
}
