//! Files that lie in the inbox and of which nothing was taken: which, and why, for whoever looks.

use serde::Serialize;

use super::text::shown;

/// A file that was left where it lies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FileLeft {
    /// Why.
    pub why: WhyLeft,
    /// Its name in the inbox.
    pub name: String,
    /// More, as a phrase.
    pub told: String,
}

/// Why a file was left where it lies. A closed list, the same in metrics, rows and JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WhyLeft {
    /// The system does not let it be read.
    Unreadable,
    /// It is larger than anything that is read.
    TooLarge,
    /// Books whose content was taken before, from another place, and of which something was replaced since.
    TakenBefore,
}

/// How many files are named. More are counted.
const NAMED: usize = 20;

// === impl WhyLeft ===

impl WhyLeft {
    /// Every reason.
    pub const ALL: [Self; 3] = [Self::Unreadable, Self::TooLarge, Self::TakenBefore];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::TooLarge => "too_large",
            Self::TakenBefore => "taken_before",
        }
    }

    /// By its name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.name() == name)
    }

    fn sentence(self, count: usize) -> String {
        let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        match self {
            Self::Unreadable => format!("{files} could not be read"),
            Self::TooLarge => format!("{files} too large to be read"),
            Self::TakenBefore => format!("{files} not taken again, though the books say something else since"),
        }
    }
}

/// The files in lines of text: one for each reason, and one for each file; nothing where there are none.
pub fn lines(files: &[FileLeft]) -> Vec<String> {
    let mut lines = Vec::new();
    for why in WhyLeft::ALL {
        let of: Vec<&FileLeft> = files.iter().filter(|file| file.why == why).collect();
        let told = |file: &FileLeft| format!("{} ({})", shown(&file.name), shown(&file.told));
        match of.as_slice() {
            [] => {}
            [one] => lines.push(format!("{}: {}", why.sentence(1), told(one))),
            many => {
                lines.push(format!("{}:", why.sentence(many.len())));
                lines.extend(many.iter().take(NAMED).map(|file| format!("    {}", told(file))));
                lines.extend((many.len() > NAMED).then(|| format!("    … and {} more", many.len() - NAMED)));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_said_once_and_its_files_are_named() {
        let file = |name: &str, why| FileLeft { name: name.into(), why, told: "Permission denied".into() };
        let one = [file("bank/a\n.ofx", WhyLeft::Unreadable)];
        assert_eq!(lines(&one), ["1 file could not be read: bank/a\\n.ofx (Permission denied)"]);
        let many: Vec<_> = (0..22).map(|at| file(&format!("book/{at}.csv"), WhyLeft::TakenBefore)).collect();
        let told = lines(&many);
        assert_eq!(told.len(), 22);
        assert!(told[0].starts_with("22 files not taken again") && told[21] == "    … and 2 more", "{told:?}");
        assert!(lines(&[]).is_empty());
    }
}
