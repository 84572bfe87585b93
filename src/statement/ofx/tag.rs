//! The elements of OFX that are read, by name.

macro_rules! tags {
    ($($variant:ident),+ $(,)?) => {
        /// An element that is read, or another.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(clippy::upper_case_acronyms, reason = "they are the standard's own names")]
        pub(super) enum Tag {
            $($variant,)+
            /// Any other.
            Other,
        }

        impl Tag {
            /// The tag of a name in upper case.
            fn of_upper(name: &[u8]) -> Self {
                $(if name == stringify!($variant).as_bytes() { return Self::$variant; })+
                Self::Other
            }

            /// The standard's name.
            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)+
                    Self::Other => "an element",
                }
            }
        }
    };
}

// Those of a line first: they are asked for most.
tags! {
    STMTTRN, TRNTYPE, DTPOSTED, TRNAMT, FITID, CHECKNUM, MEMO, NAME, REFNUM, PAYEEID, DTUSER, DTAVAIL, SIC, SRVRTID,
    EXTDNAME, PAYEE, BANKACCTTO, CCACCTTO, CORRECTFITID, CORRECTACTION, CURRENCY, ORIGCURRENCY, CURRATE, CURSYM,
    IMAGEDATA, INV401KSOURCE, STMTTRNP, DTTRAN, DTEXPIRE,
    OFX, DTSERVER, STATUS, CODE, SEVERITY, MESSAGE, STMTTRNRS, CCSTMTTRNRS, STMTRS, CCSTMTRS, INVSTMTRS, LOANSTMTRS,
    CURDEF, BANKACCTFROM, CCACCTFROM, BANKID, BRANCHID, ACCTID, ACCTTYPE, BANKTRANLIST, BANKTRANLISTP, DTSTART, DTEND,
    LEDGERBAL, AVAILBAL, BALAMT, DTASOF,
}

/// The longest name that is compared; a longer one is another's.
const LONGEST: usize = 16;

impl Tag {
    /// The tag of a name, in whatever case.
    pub(super) fn of(name: &str) -> Self {
        let mut upper = [0; LONGEST];
        let Some(upper) = upper.get_mut(..name.len()) else { return Self::Other };
        upper.copy_from_slice(name.as_bytes());
        upper.make_ascii_uppercase();
        Self::of_upper(upper)
    }

    /// Does it hold elements, so that it must be closed by name? Others may be left open, as SGML allows.
    pub(super) fn holds_elements(self) -> bool {
        matches!(
            self,
            Self::OFX
                | Self::STATUS
                | Self::STMTTRNRS
                | Self::CCSTMTTRNRS
                | Self::STMTRS
                | Self::CCSTMTRS
                | Self::INVSTMTRS
                | Self::LOANSTMTRS
                | Self::BANKACCTFROM
                | Self::CCACCTFROM
                | Self::BANKTRANLIST
                | Self::BANKTRANLISTP
                | Self::STMTTRN
                | Self::STMTTRNP
                | Self::BANKACCTTO
                | Self::CCACCTTO
                | Self::LEDGERBAL
                | Self::AVAILBAL
        )
    }
}
