//! Extracts in protocol buffers (`.osm.pbf`).

use std::io::{Read, Seek};

use super::blobs::Blobs;
use super::block::{Block, Node, Relation, Way, WayOrRelation};
#[cfg(feature = "game")]
use super::land::{LandPlaces, LandSurvey};
use super::restrictions::{Members, RelationTags};
use super::ways::Points;
use super::wire::Broken;
use super::{Source, Survey, Tags};
use crate::map::MapError;

impl<R: Read + Seek> Source for Blobs<'_, R> {
    fn length(&self) -> u64 {
        Blobs::length(self)
    }

    fn survey(&mut self, survey: &mut Survey) -> Result<(), MapError> {
        self.for_each(|data| {
            Block::read(data)?.for_each_way_or_relation(|element| match element {
                WayOrRelation::Way(way) => add_way(survey, &way),
                WayOrRelation::Relation(relation) => add_relation(survey, &relation),
            })
        })
    }

    fn place(&mut self, points: &mut Points) -> Result<(), MapError> {
        self.for_each(|data| Block::read(data)?.for_each_node(|Node { id, place, tags }| points.add(id, place, tags)))
    }

    #[cfg(feature = "game")]
    fn survey_land(&mut self, survey: &mut LandSurvey) -> Result<(), MapError> {
        self.for_each(|data| {
            Block::read(data)?.for_each_way_or_relation(|element| match element {
                WayOrRelation::Way(way) => survey.add_way(tags(&way)?, way.nodes()),
                WayOrRelation::Relation(_) => Ok(()),
            })
        })
    }

    #[cfg(feature = "game")]
    fn place_land(&mut self, places: &mut LandPlaces) -> Result<(), MapError> {
        self.for_each(|data| {
            Block::read(data)?.for_each_node(|Node { id, place, tags }| {
                places.add(id, place, tags);
                Ok(())
            })
        })
    }
}

fn add_way(survey: &mut Survey, way: &Way) -> Result<(), Broken> {
    survey.add_way(way.id, &tags(way)?, way.nodes())
}

fn tags<T: Tags>(way: &Way) -> Result<T, Broken> {
    let mut tags = T::default();
    for tag in way.tags() {
        let (key, value) = tag?;
        tags.add(key.as_bytes(), value.as_bytes());
    }
    Ok(tags)
}

fn add_relation(survey: &mut Survey, relation: &Relation) -> Result<(), Broken> {
    let mut tags = RelationTags::default();
    for tag in relation.tags() {
        let (key, value) = tag?;
        tags.add(key, value);
    }
    if !tags.is_restriction() {
        return Ok(());
    }
    let mut members = Members::default();
    relation.for_each_member(|role, kind, id| members.add(role, kind, id))?;
    survey.add_relation(tags, &members)
}
