//! Several books, several nodes: who makes room for whom.
//!
//! Each book is a lease, and each node runs a worker for each. Nothing but chance would keep one node from leading them
//! all. Two rules share them out. A node that leads others already lets the rest go first at the next election
//! ([`Picture::load`]); and a leader at rest gives its lease up where a node that waits for it leads at least two books
//! fewer ([`Picture::gives_up`]). Each lease given up so makes the difference smaller, and only the last by name of a node's
//! leases goes at a time: it comes to rest, with no node more than one book ahead of one that waits.
//!
//! It is a courtesy, and protects nothing: whoever sees it wrongly gives a lease up that comes back.

use super::LeaseName;

/// Who leads what and who waits for what, as one look at Postgres found it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    /// Lease and node of every leader that is alive.
    pub leads: Vec<(LeaseName, String)>,
    /// Lease and node of every worker that would lead it, leaders among them. The name may be cut at its end.
    pub attends: Vec<(LeaseName, String)>,
}

/// Nodes that are counted at most: more would only make a candidate wait longer.
const MOST: u32 = 8;
/// Names shorter than this were not cut.
const CUT: usize = 40;

// === impl Picture ===

impl Picture {
    /// How many other leases the node leads.
    pub fn load(&self, node: &str, lease: &LeaseName) -> u32 {
        let others = self.leads.iter().filter(|(led, by)| by == node && led != lease).count();
        u32::try_from(others).unwrap_or(MOST).min(MOST)
    }

    /// Shall the node, which leads this lease, give it up?
    pub fn gives_up(&self, node: &str, lease: &LeaseName) -> bool {
        let own = self.leads.iter().filter(|(_, by)| by == node).count();
        let led_by = |other: &str| self.leads.iter().filter(|(_, by)| is_same(by, other)).count();
        let wanted = |led: &LeaseName| {
            let waiting = self.attends.iter().filter(|(attended, by)| attended == led && !is_same(node, by));
            waiting.into_iter().any(|(_, by)| led_by(by) + 2 <= own)
        };
        let last = self.leads.iter().filter(|(led, by)| by == node && wanted(led)).map(|(led, _)| led.as_str()).max();
        last == Some(lease.as_str())
    }
}

/// Is the second name the first one, perhaps cut at its end?
fn is_same(node: &str, perhaps_cut: &str) -> bool {
    node == perhaps_cut || (perhaps_cut.len() >= CUT && node.starts_with(perhaps_cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(leads: &[(&str, &str)], attends: &[(&str, &str)]) -> Picture {
        let named = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(lease, node)| (LeaseName::new(lease).unwrap(), (*node).to_owned())).collect()
        };
        Picture { leads: named(leads), attends: named(attends) }
    }

    fn gives_up(picture: &Picture, node: &str) -> Vec<String> {
        let leases = ["a", "b", "c"].map(|lease| LeaseName::new(lease).unwrap());
        leases.iter().filter(|lease| picture.gives_up(node, lease)).map(|lease| lease.as_str().to_owned()).collect()
    }

    #[test]
    fn a_node_with_two_more_than_one_that_waits_gives_up_one_lease_at_a_time() {
        let everybody: Vec<_> = ["a", "b", "c"].into_iter().flat_map(|lease| [(lease, "n1"), (lease, "n2")]).collect();
        assert_eq!(gives_up(&picture(&[("a", "n1"), ("b", "n1"), ("c", "n1")], &everybody), "n1"), ["c"]);
        assert_eq!(gives_up(&picture(&[("a", "n1"), ("b", "n1"), ("c", "n2")], &everybody), "n1"), [""; 0]);
        assert_eq!(gives_up(&picture(&[("a", "n1"), ("b", "n1")], &everybody), "n1"), ["b"]);
        assert_eq!(gives_up(&picture(&[("a", "n1")], &everybody), "n1"), [""; 0]);
    }

    #[test]
    fn nothing_is_given_up_that_nobody_waits_for() {
        let leads = [("a", "n1"), ("b", "n1"), ("c", "n1")];
        assert_eq!(gives_up(&picture(&leads, &[("a", "n1"), ("c", "n1")]), "n1"), [""; 0]);
        assert_eq!(gives_up(&picture(&leads, &[("a", "n2"), ("c", "n1")]), "n1"), ["a"], "another lease than the last");
    }

    #[test]
    fn it_comes_to_rest_from_any_beginning_with_no_node_two_ahead_of_one_that_waits() {
        let (nodes, leases) = (["n1", "n2", "n3"], ["a", "b", "c", "d", "e"]);
        let everybody: Vec<_> = leases.into_iter().flat_map(|lease| nodes.map(|node| (lease, node))).collect();
        for beginning in 0..3_usize.pow(5) {
            let mut leads: Vec<(&str, &str)> =
                leases.iter().zip([1, 3, 9, 27, 81]).map(|(lease, at)| (*lease, nodes[beginning / at % 3])).collect();
            for given in 0.. {
                let now = picture(&leads, &everybody);
                let next = leads.iter().position(|(lease, node)| now.gives_up(node, &LeaseName::new(lease).unwrap()));
                let count = |node: &str| leads.iter().filter(|(_, by)| *by == node).count();
                let Some(next) = next else {
                    let counts = nodes.map(count);
                    assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
                    break;
                };
                assert!(given < 5, "no end from {beginning}");
                // Whoever leads fewest goes first at the election that follows.
                leads[next].1 = nodes.into_iter().min_by_key(|node| count(node)).unwrap();
            }
        }
    }

    #[test]
    fn a_name_that_was_cut_is_known_by_its_beginning() {
        let long = "counterfoil-worker-7d9f8b6c5d-with-a-very-long-name-x2x4z";
        let cut = &long[..42];
        assert_eq!(gives_up(&picture(&[("a", long), ("b", long)], &[("b", cut), ("b", "n2")]), long), ["b"]);
        assert_eq!(gives_up(&picture(&[("a", long), ("b", long)], &[("b", cut)]), long), [""; 0]);
        assert_eq!(picture(&[("a", long), ("b", long)], &[]).load(long, &LeaseName::new("b").unwrap()), 1);
    }
}
