//! The files of `examples/`, carried in the binary, so that the demo runs wherever it does.

use std::fs;
use std::path::Path;

use anyhow::Context;
use chrono::NaiveDate;

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../../examples/", $path)).as_slice())),*]
    };
}

const FILES: &[(&str, &[u8])] = files![
    "counterfoil.toml",
    "inbox/bank/extrato-2026-11-27.ofx",
    "inbox/bank/europe/statement-2026-11-27.xml",
    "inbox/book/balances-2026-11-27.csv",
    "inbox/book/ledger-brl-2026-11-27.csv",
    "inbox/book/ledger-eur-2026-11-27.jsonl",
    "openings/europe.csv",
    "openings/operating.csv",
    "openings/receivables.csv",
];

/// The business date of the files.
pub(super) fn business_date() -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 11, 27).unwrap_or_default()
}

/// Writes the files under `folder`, as they lie in `examples/`.
pub(super) fn lay_out(folder: &Path) -> anyhow::Result<()> {
    for (path, bytes) in FILES {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        }
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_examples_is_carried() {
        fn walk(folder: &Path, root: &Path, into: &mut Vec<String>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, root, into);
                } else {
                    into.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
        let mut there = vec!["counterfoil.toml".to_owned()];
        for folder in ["inbox", "openings"] {
            walk(&root.join(folder), &root, &mut there);
        }
        let mut carried: Vec<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        there.sort();
        carried.sort();
        assert_eq!(carried, there);
    }
}
