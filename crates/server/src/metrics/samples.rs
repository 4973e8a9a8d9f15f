//! Writes samples at a scrape.

use std::fmt::Result;

use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeMetric as _, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;

/// A writer of samples.
pub(super) struct Samples<'a>(pub(super) DescriptorEncoder<'a>);

impl Samples<'_> {
    /// Writes a current value.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: impl EncodeGaugeValue) -> Result {
        let encoder = &mut self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        encoder.encode_gauge(&value)
    }

    /// Writes 1 for true, 0 for false.
    pub(super) fn flag(&mut self, name: &str, help: &str, is_so: bool) -> Result {
        self.gauge(name, help, u32::from(is_so))
    }

    /// Writes a count since the start.
    pub(super) fn counter(&mut self, name: &str, help: &str, count: u64) -> Result {
        let counter = ConstCounter::new(count);
        counter.encode(self.0.encode_descriptor(name, help, None, counter.metric_type())?)
    }

    /// Writes current values, one for each label.
    pub(super) fn gauges(&mut self, name: &str, help: &str, write: impl FnOnce(Labelled<'_, '_>) -> Result) -> Result {
        write(Labelled { encoder: &mut self.0.encode_descriptor(name, help, None, MetricType::Gauge)? })
    }

    /// Writes counts since the start, one for each label.
    pub(super) fn counters(
        &mut self,
        name: &str,
        help: &str,
        write: impl FnOnce(Labelled<'_, '_>) -> Result,
    ) -> Result {
        write(Labelled { encoder: &mut self.0.encode_descriptor(name, help, None, MetricType::Counter)? })
    }

    /// Writes histograms since the start, one for each label.
    pub(super) fn histograms(
        &mut self,
        name: &str,
        help: &str,
        write: impl FnOnce(Labelled<'_, '_>) -> Result,
    ) -> Result {
        write(Labelled { encoder: &mut self.0.encode_descriptor(name, help, None, MetricType::Histogram)? })
    }
}

/// A writer of one metric's samples, each with labels.
pub(super) struct Labelled<'a, 'b> {
    encoder: &'a mut MetricEncoder<'b>,
}

impl Labelled<'_, '_> {
    /// Writes one sample of a gauge.
    pub(super) fn gauge(&mut self, labels: &[(&str, &str)], value: impl EncodeGaugeValue) -> Result {
        self.encoder.encode_family(&labels)?.encode_gauge(&value)
    }

    /// Writes one sample of a counter.
    pub(super) fn counter(&mut self, labels: &[(&str, &str)], count: u64) -> Result {
        ConstCounter::new(count).encode(self.encoder.encode_family(&labels)?)
    }

    /// Writes one histogram: its sum, its count, and the number of values in each bucket, at or below its bound and above
    /// the one before.
    pub(super) fn histogram(&mut self, labels: &[(&str, &str)], sum: f64, buckets: &[(f64, u64)]) -> Result {
        let count = buckets.iter().map(|(_, count)| count).sum();
        self.encoder.encode_family(&labels)?.encode_histogram::<[(&str, &str); 0]>(sum, count, buckets, None)
    }
}
