//! Threads that were started on a worker: by a system, or for a row. Many libraries start theirs
//! when they are used first, wherever that is.

use std::sync::Mutex;

use bevy_platform::time::Instant;
use log::warn;

use super::AffinityPool;
use crate::{
    once::Once,
    topology::{Children, CoreId},
};

impl AffinityPool {
    /// Looks about once a second whether a worker has started a thread, until one has: then says
    /// what comes of that. One look is for all apps of the process.
    pub(crate) fn watch_children(&self) {
        static WARNED: Once = Once::new();
        if self.workers() > 1
            && !WARNED.is_done()
            && let Some(cores) = self.look_for_child()
            && WARNED.first()
        {
            warn_of_child(&cores);
        }
    }

    /// The cores that a thread which a worker has started is kept to.
    fn look_for_child(&self) -> Option<Vec<CoreId>> {
        static CHILDREN: Mutex<Children> = Mutex::new(Children::new());
        let (mut children, now) = (CHILDREN.try_lock().ok()?, Instant::now());
        if !children.is_due(now) {
            return None;
        }
        children.look(now, self.topology.cores.len(), || self.gang.threads())
    }
}

fn warn_of_child(cores: &[CoreId]) {
    let cores: Vec<_> = cores.iter().map(CoreId::to_string).collect();
    warn!(
        "bevy_affinity: a thread that was started on a worker, by a system or for a row, may use core {} only: it \
         inherited that, and a library that is used there first (rayon) counts no more cores. Start threads, and such \
         libraries, on the main thread, as before `App::run`, or choose `Pinning::Off`",
        cores.join(", ")
    );
}
