//! Metrics of each node. A node's name is its host and port.

use std::fmt;

use braid_ethereum::{CALL_SECONDS, Node, NodeReport};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::samples::Samples;

/// Reads the nodes' reports.
pub(super) struct NodeCollector(pub(super) Node);

impl fmt::Debug for NodeCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeCollector")
    }
}

impl Collector for NodeCollector {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let reports = self.0.report();
        let mut samples = Samples(encoder);
        let mut gauges = |name: &str, help: &str, value: fn(&NodeReport) -> Option<u64>| {
            samples.gauges(name, help, |mut gauge| {
                let known = reports.iter().filter_map(|report| Some((report, value(report)?)));
                known.into_iter().try_for_each(|(report, value)| gauge.gauge(&[("node", &report.name)], value))
            })
        };
        gauges("node_score", "How good the node is, 0 to 100", |node| Some(u64::from(node.score)))?;
        gauges("node_leads", "1 for the node that is asked first", |node| Some(u64::from(node.leads)))?;
        gauges("node_block", "Height of the newest block that the node reported", |node| node.head)?;
        samples.gauges("node_fault", "1 for a node's fault, by its name", |mut gauge| {
            let faults = reports.iter().filter_map(|report| Some((report, report.fault.as_ref()?)));
            faults
                .into_iter()
                .try_for_each(|(report, fault)| gauge.gauge(&[("node", &report.name), ("fault", fault.name())], 1_u64))
        })?;
        let mut counters = |name: &str, help: &str, value: fn(&NodeReport) -> u64| {
            samples.counters(name, help, |mut counter| {
                reports.iter().try_for_each(|report| counter.counter(&[("node", &report.name)], value(report)))
            })
        };
        counters("node_asked", "Questions put to the node", |node| node.asked)?;
        counters("node_failed", "Questions that the node failed to answer", |node| node.failed)?;
        counters("node_hedged", "Questions put to the node because another was slow", |node| node.hedged)?;
        samples.histograms("node_call_seconds", "Time until the node answered", |mut histogram| {
            reports.iter().try_for_each(|report| {
                let bounds = CALL_SECONDS.into_iter().chain([f64::INFINITY]);
                let buckets: Vec<_> = bounds.zip(report.calls.buckets).collect();
                histogram.histogram(&[("node", &report.name)], report.calls.total.as_secs_f64(), &buckets)
            })
        })
    }
}
