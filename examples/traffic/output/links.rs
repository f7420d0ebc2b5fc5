//! `links.csv`: a row for every link and quarter hour in which a car entered or left it.

use std::io::{self, Write};
use std::path::Path;

use super::file::Draft;
use super::fundamental::Fundamental;
use super::passage::Passage;
use super::{QUARTER, Source};
use crate::map::{Link, Network};
use crate::model::LinkState;

pub struct Links {
    draft: Draft,
    links: Vec<Link>,
    /// As of the end of the last quarter hour.
    before: Vec<LinkState>,
    begins: u32,
}

impl Links {
    pub fn create(folder: &Path, network: &Network) -> Result<Self, String> {
        let mut draft = Draft::create(folder, "links.csv")?;
        let columns = "link,from,to,metres,lanes,quarter_begins,entered,left,mean_seconds,mean_speed_kmh";
        draft.write(|out| writeln!(out, "{columns}"))?;
        let before = vec![LinkState::default(); network.links.len()];
        Ok(Self { draft, links: network.links.clone(), before, begins: 0 })
    }

    /// Adds the rows of the quarter hour that ends at second `now`; the last one may be shorter.
    pub fn end_quarter<S: Source + ?Sized>(
        &mut self,
        now: u32,
        source: &mut S,
        fundamental: &mut Fundamental,
    ) -> Result<(), String> {
        let Self { draft, links, before, begins } = self;
        draft.write(|out| {
            let mut result = Ok(());
            source.links(&mut |number, state| {
                let link = &links[number as usize];
                let passage = Passage::between(&before[number as usize], &state);
                before[number as usize] = state;
                if now - *begins == QUARTER {
                    fundamental.add(link, &passage);
                }
                if result.is_ok() && (passage.entered > 0 || passage.left > 0) {
                    result = row(out, number, link, *begins, &passage);
                }
            });
            result
        })?;
        *begins = now;
        Ok(())
    }

    pub fn into_draft(self) -> Draft {
        self.draft
    }
}

fn row(out: &mut impl Write, number: u32, link: &Link, begins: u32, passage: &Passage) -> io::Result<()> {
    let metres = f64::from(link.length_dm) / 10.0;
    let Passage { entered, left, seconds } = passage;
    write!(out, "{number},{},{},{metres:.1},{},{begins},{entered},{left},", link.from, link.to, link.lanes)?;
    if *left == 0 {
        return writeln!(out, ",");
    }
    // A car may be gone in the second in which it came.
    let seconds = seconds / *left as f64;
    let speed = if seconds > 0.0 { format!("{:.1}", metres / seconds * 3.6) } else { String::new() };
    writeln!(out, "{seconds:.1},{speed}")
}
