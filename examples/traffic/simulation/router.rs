//! Finds other ways on a thread of its own, so that neither drawing nor a step waits
//! for a search.

use std::collections::VecDeque;
use std::sync::Arc;
#[cfg(feature = "game")]
use std::sync::mpsc::TryRecvError;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use bevy::platform::cell::SyncCell;

use crate::city::City;
use crate::routes::{Rerouter, Routes};

/// What other ways are for.
pub enum Request {
    /// A road closes or reopens.
    Road { road: u32, closed: bool },
    /// Drivers know how long they have waited at the end of each link, in tenths of a second.
    Replan { waits: Vec<Option<u32>> },
}

/// The thread ends when this is dropped.
pub struct Router {
    requests: SyncCell<Sender<Request>>,
    results: SyncCell<Receiver<Arc<Rerouter>>>,
    found: VecDeque<Arc<Rerouter>>,
    /// What has found the routes that were taken last.
    #[cfg(feature = "game")]
    taken: Option<Arc<Rerouter>>,
}

impl Router {
    pub fn start(city: Arc<City>, routes: Arc<Routes>) -> Self {
        let (requests, queue) = channel();
        let (done, results) = channel();
        thread::spawn(move || route(&city, routes, &queue, &done));
        let (requests, results) = (SyncCell::new(requests), SyncCell::new(results));
        Self {
            requests,
            results,
            found: VecDeque::new(),
            #[cfg(feature = "game")]
            taken: None,
        }
    }

    /// Asks for the routes after one more change. Answers come in the order of the requests.
    pub fn request(&mut self, request: Request) {
        let sent = self.requests.get().send(request);
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
        let found = found.expect("the search for other ways ended early");
        let routes = found.routes();
        #[cfg(feature = "game")]
        {
            self.taken = Some(found);
        }
        routes
    }

    /// What goes on from the routes that were taken last: it knows which roads are closed by then.
    /// None where no routes were taken yet.
    #[cfg(feature = "game")]
    pub fn taken(&self) -> Option<&Arc<Rerouter>> {
        self.taken.as_ref()
    }
}

fn route(city: &City, routes: Arc<Routes>, queue: &Receiver<Request>, done: &Sender<Arc<Rerouter>>) {
    let mut rerouter = Arc::new(city.rerouter(routes));
    for request in queue {
        // A copy goes on while somebody holds the last answer.
        let changed = Arc::make_mut(&mut rerouter);
        match request {
            Request::Road { road, closed } => city.set_closed(changed, road, closed),
            Request::Replan { waits } => city.replan(changed, &waits),
        }
        if done.send(Arc::clone(&rerouter)).is_err() {
            return;
        }
    }
}
