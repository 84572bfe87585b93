//! The command line: parse, call one command, turn its outcome into an exit code.

use std::process::ExitCode;

use clap::Parser;
use counterfoil::cli::Cli;

fn main() -> ExitCode {
    Cli::parse().run().into()
}
