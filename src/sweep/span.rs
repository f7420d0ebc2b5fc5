//! Spans of sweeps that the gang has no part in.

use std::sync::Arc;

use super::rows::Rows;
use crate::{
    context::{is_inside_call, with_system},
    pool::now,
    record::{Recorder, Span, SpanKind, running_number},
};

/// A sweep by the calling thread, or by Bevy's threads for it, from here to where this is dropped;
/// recorded while spans are.
pub(crate) struct SweepSpan {
    recorder: Option<Arc<Recorder>>,
    began: u64,
    rows: u64,
}

impl SweepSpan {
    #[inline]
    pub(crate) fn begin(rows: &Rows<'_, '_>) -> Self {
        let recorder = with_system(|entered| {
            let recorder = &entered.context.recorder;
            recorder.recording().is_on().then(|| recorder.clone())
        })
        .flatten();
        // Inside another parallel call it is a part of a worker's share.
        let recorder = recorder.filter(|_| !is_inside_call());
        let (began, rows) = recorder.as_ref().map_or((0, 0), |_| (now(), rows.total()));
        Self { recorder, began, rows }
    }

    #[cold]
    fn record(&self, recorder: &Recorder) {
        let span = Span::of_caller(SpanKind::Sweep, running_number(), self.began..now());
        recorder.write(|spans| spans.push(Span { rows: self.rows, ..span }));
    }
}

impl Drop for SweepSpan {
    #[inline]
    fn drop(&mut self) {
        if let Some(recorder) = &self.recorder {
            self.record(recorder);
        }
    }
}
