//! Finds ways around closed roads on a thread of its own, so that neither drawing nor a step waits
//! for a search.

use std::collections::VecDeque;
use std::sync::Arc;
#[cfg(feature = "game")]
use std::sync::mpsc::TryRecvError;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use bevy::platform::cell::SyncCell;

use crate::city::City;
use crate::routes::Routes;

/// A road that closes or reopens.
struct Request {
    road: u32,
    closed: bool,
}

/// The thread ends when this is dropped.
pub struct Router {
    requests: SyncCell<Sender<Request>>,
    results: SyncCell<Receiver<Arc<Routes>>>,
    found: VecDeque<Arc<Routes>>,
}

impl Router {
    pub fn start(city: Arc<City>) -> Self {
        let (requests, queue) = channel();
        let (done, results) = channel();
        thread::spawn(move || route(&city, &queue, &done));
        let (requests, results) = (SyncCell::new(requests), SyncCell::new(results));
        Self { requests, results, found: VecDeque::new() }
    }

    /// Asks for the routes after one more change. Answers come in the order of the requests.
    pub fn request(&mut self, road: u32, closed: bool) {
        let sent = self.requests.get().send(Request { road, closed });
        assert!(sent.is_ok(), "the thread listens as long as this exists");
    }

    /// Whether the oldest answer that was not taken yet is there, or will never be.
    #[cfg(feature = "game")]
    pub fn is_ready(&mut self) -> bool {
        if self.found.is_empty() {
            match self.results.get().try_recv() {
                Ok(found) => self.found.push_back(found),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => {}
            }
        }
        true
    }

    /// Waits for the oldest answer.
    ///
    /// # Panics
    /// If the search did.
    pub fn take(&mut self) -> Arc<Routes> {
        let found = self.found.pop_front().or_else(|| self.results.get().recv().ok());
        found.expect("the search for a way around a closed road ended early")
    }
}

fn route(city: &City, queue: &Receiver<Request>, done: &Sender<Arc<Routes>>) {
    let mut rerouter = None;
    for Request { road, closed } in queue {
        let (node, exit) = city.road_start(road);
        let routes = rerouter.get_or_insert_with(|| city.rerouter()).set_closed(node, exit, closed);
        if done.send(Arc::new(routes)).is_err() {
            return;
        }
    }
}
