//! The kernel's notation for sets of cores, such as `0-3,8-11`.

use std::ops::RangeInclusive;

/// A set of core numbers. Kept as ranges, so a wrong file cannot make it large.
pub(super) struct CpuList(Vec<RangeInclusive<usize>>);

impl CpuList {
    /// `None` if `text` is no list of cores. An empty text is an empty list, as in the kernel's own
    /// files.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let ranges = text.trim().split(',').filter(|range| !range.is_empty());
        ranges.map(parse_range).collect::<Option<_>>().map(Self)
    }

    pub(super) fn contains(&self, cpu: usize) -> bool {
        self.0.iter().any(|range| range.contains(&cpu))
    }

    /// The smallest number in the list: two lists of a partition are the same if this is.
    pub(super) fn lowest(&self) -> Option<usize> {
        self.0.iter().map(|range| *range.start()).min()
    }
}

fn parse_range(text: &str) -> Option<RangeInclusive<usize>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = first.parse().ok()?..=last.parse().ok()?;
    (!range.is_empty()).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Option<Vec<usize>> {
        let list = CpuList::parse(text)?;
        Some((0..32).filter(|cpu| list.contains(*cpu)).collect())
    }

    #[test]
    fn reads_single_cores_and_ranges() {
        assert_eq!(members("5\n"), Some(vec![5]));
        assert_eq!(members("0-2,8,10-11\n"), Some(vec![0, 1, 2, 8, 10, 11]));
        assert_eq!(members("\n"), Some(vec![]));
    }

    #[test]
    fn refuses_what_is_no_list() {
        for text in ["x", "1-", "-1", "3-1", "1-2-3", "0x1", "1;2"] {
            assert_eq!(members(text), None, "{text:?}");
        }
    }

    #[test]
    fn knows_its_lowest_core() {
        let lowest = |text| CpuList::parse(text).and_then(|list| list.lowest());
        assert_eq!(lowest("8-11,0-3"), Some(0));
        assert_eq!(lowest("7"), Some(7));
        assert_eq!(lowest(""), None);
    }
}
