//! Remembers the trips that end, while a caller asks for them.

use std::sync::{Mutex, PoisonError};

use bevy::app::App;
use bevy::prelude::Resource;

use crate::model::EndedTrip;

/// The trips that have ended since they were last taken. Workers add to it where cars hear that
/// their trips have ended, which no step has to look for: within a second they are in no order.
#[derive(Resource, Default)]
pub struct Record(Mutex<Vec<EndedTrip>>);

impl Record {
    pub fn add(&self, trip: EndedTrip) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(trip);
    }

    pub fn take(&mut self) -> Vec<EndedTrip> {
        std::mem::take(self.0.get_mut().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Remembers trips from now on.
pub fn start(app: &mut App) {
    app.init_resource::<Record>();
}
