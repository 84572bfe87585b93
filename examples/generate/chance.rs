//! Deterministic chance: amounts, names and ids that look like a day at a bank, and are the same on every machine.

use std::collections::BTreeSet;

/// SplitMix64 (Steele, Lea, Flood 2014), and the amounts that it gave.
pub(crate) struct Chance {
    state: u64,
    amounts: BTreeSet<i64>,
}

/// Companies that do not exist.
const NAMES: [&str; 40] = [
    "Mercado Bom Vento",
    "Padaria Trigal Dourado",
    "Tecidos Auroral",
    "Livraria Folha Solta",
    "Ferragens A&B",
    "Café do Mirante",
    "Ótica Clareira",
    "Gráfica Papel Miúdo",
    "Hotel Pedra Funda",
    "Oficina Roda Viva Sul",
    "Clínica Vale Sereno",
    "Farmácia Erva Doce",
    "Transportes Rota Clara",
    "Móveis Jequitibá Novo",
    "Sorveteria Três Picos",
    "Agro Campo Raso",
    "Pet Shop Quatro Patas",
    "Escola Passo Largo",
    "Construtora Laje Firme",
    "Lavanderia Brancura",
    "Floricultura Bem Querer",
    "Vidraçaria Transparência",
    "Açougue Boi Manso",
    "Papelaria Ponto Final",
    "Estúdio Meia Luz",
    "Bicicletas Pedal Solto",
    "Confecções Linha Fina",
    "Marcenaria Sarrafo",
    "Peixaria Maré Cheia",
    "Informática Bit Certo",
    "Autopeças Biela",
    "Cerâmica Barro Vivo",
    "Distribuidora Serra Alta",
    "Embalagens Dobra",
    "Laticínios Curral Velho",
    "Moinho Grão Bom",
    "Pousada Beira Rio Doce",
    "Refrigeração Polo",
    "Serralheria Ferro Batido",
    "Torrefação Grão Escuro",
];

// === impl Chance ===

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed, amounts: BTreeSet::new() }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `low` up to, and without, `high`.
    pub(crate) fn within(&mut self, low: i64, high: i64) -> i64 {
        let span = u64::try_from(high - low).unwrap_or(1).max(1);
        low + i64::try_from(self.next() % span).unwrap_or(0)
    }

    /// Cents between two amounts, never the same twice: an amount that two lines have is the story's to give.
    pub(crate) fn cents(&mut self, low: i64, high: i64) -> i64 {
        loop {
            let cents = self.within(low, high);
            if self.amounts.insert(cents) {
                return cents;
            }
        }
    }

    /// Keeps an amount for the story.
    pub(crate) fn reserve(&mut self, cents: i64) -> i64 {
        self.amounts.insert(cents.abs());
        cents
    }

    pub(crate) fn name(&mut self) -> &'static str {
        let count = i64::try_from(NAMES.len()).unwrap_or(1);
        usize::try_from(self.within(0, count)).ok().and_then(|at| NAMES.get(at)).copied().unwrap_or(NAMES[0])
    }

    /// Characters of an alphabet.
    fn text(&mut self, alphabet: &[u8], length: usize) -> String {
        let count = i64::try_from(alphabet.len()).unwrap_or(1);
        let pick = |at: i64| usize::try_from(at).ok().and_then(|at| alphabet.get(at)).copied().unwrap_or(b'0');
        (0..length).map(|_| char::from(pick(self.within(0, count)))).collect()
    }

    pub(crate) fn digits(&mut self, length: usize) -> String {
        self.text(b"0123456789", length)
    }

    /// A Pix end-to-end id (`E`) or return id (`D`) of a minute of a day: letter, ISPB, time, eleven characters. The
    /// ISPB is nobody's.
    pub(crate) fn pix(&mut self, letter: char, day: chrono::NaiveDate) -> String {
        let minute = self.within(7 * 60, 20 * 60);
        let tail = self.text(b"0123456789abcdefghijkmnpqrstuvwxyz", 11);
        format!("{letter}99999004{}{:02}{:02}{tail}", day.format("%Y%m%d"), minute / 60, minute % 60)
    }

    /// The same things in another order.
    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        for at in (1..things.len()).rev() {
            let other = usize::try_from(self.within(0, i64::try_from(at).unwrap_or(0) + 1)).unwrap_or(at);
            things.swap(at, other);
        }
    }
}
