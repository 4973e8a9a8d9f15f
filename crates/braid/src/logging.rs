//! Structured logs on standard error, and traces for an OpenTelemetry collector.

use std::io::IsTerminal;

use clap::ValueEnum;
use eyre::{Result, eyre};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::{FilterExt as _, Targets, filter_fn};
use tracing_subscriber::{Layer, Registry, layer::SubscriberExt as _, reload, util::SubscriberInitExt as _};

use crate::exit::usage;

/// The target of spans, which are for traces and not for the log.
const TRACE: &str = "trace";

/// Variables of which one must be set for traces to be sent, as OpenTelemetry specifies them.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// Format of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For a person.
    Text,
    /// One JSON object per line, for a machine.
    Json,
}

/// Log options, common to the commands that log.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// How logs look
    #[arg(long, env = "BRAID_LOG_FORMAT", value_enum, default_value = "text")]
    log_format: LogFormat,
    /// What is logged: a level (error, warn, info, debug, trace) or a list such as `info,braid_ethereum=debug`. A
    /// running `serve` reads it anew from the configuration file on SIGHUP
    #[arg(long, env = "BRAID_LOG", value_name = "FILTER", default_value = "info")]
    log: String,
}

/// Running logging. Dropping it sends the last traces.
pub(crate) struct Logging {
    filter: reload::Handle<Targets, Registry>,
    traces: Option<SdkTracerProvider>,
}

impl LogArgs {
    /// Starts logging, and sends traces if the environment names a collector.
    pub(crate) fn start(&self) -> Result<Logging> {
        let (filter, handle) = reload::Layer::new(self.filter()?);
        let lines = tracing_subscriber::fmt::layer()
            // colours only on a terminal
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(std::io::stderr);
        let lines = match self.log_format {
            LogFormat::Text => lines.with_target(false).boxed(),
            LogFormat::Json => lines.json().flatten_event(true).boxed(),
        };
        let traces = collector()?;
        let spans = traces.as_ref().map(|traces| {
            let only = Targets::new().with_target(TRACE, LevelFilter::INFO);
            tracing_opentelemetry::layer().with_tracer(traces.tracer("braid")).with_filter(only)
        });
        tracing_subscriber::registry()
            .with(lines.with_filter(filter.and(filter_fn(shows_no_secret))))
            .with(spans)
            .try_init()
            .map_err(|error| eyre!("logging cannot start: {error}"))?;
        Ok(Logging { filter: handle, traces })
    }

    /// Checks the filter and the collector's address, without logging.
    pub(crate) fn check(&self) -> Result<()> {
        self.filter()?;
        exporter().map(drop)
    }

    fn filter(&self) -> Result<Targets> {
        let wrong = |why: String| {
            usage(format!(
                "--log {:?} is not a level or a list of target=level: {why}; write info, or info,braid_ethereum=debug",
                self.log
            ))
        };
        let filter = self.log.parse::<Targets>().map_err(|error| wrong(error.to_string()))?;
        // the parser takes a word that is no level for a module
        let is_name = |target: &str| target.chars().all(|c| c.is_ascii_alphanumeric() || "_:-".contains(c));
        if let Some((target, _)) = filter.iter().find(|(target, _)| !is_name(target)) {
            return Err(wrong(format!("{target:?} is no module")));
        }
        Ok(filter.with_target(TRACE, LevelFilter::OFF))
    }
}

/// Hides a library's log of the opening of a websocket: it has the whole request, with the node's path and password.
fn shows_no_secret(line: &tracing::Metadata<'_>) -> bool {
    *line.level() != tracing::Level::TRACE || !line.target().starts_with("tungstenite")
}

impl Logging {
    /// Changes what is logged; the format stays.
    pub(crate) fn change(&self, args: &LogArgs) -> Result<()> {
        self.filter.reload(args.filter()?).map_err(|error| eyre!("the log cannot be changed: {error}"))?;
        tracing::info!(filter = args.log, "the log filter was reloaded");
        Ok(())
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.traces.as_ref().map(SdkTracerProvider::shutdown) {
            crate::out::note(format_args!("braid: the last traces could not be sent: {error}"));
        }
    }
}

/// Makes the exporter of traces, if the environment names a collector.
fn exporter() -> Result<Option<opentelemetry_otlp::SpanExporter>> {
    if !ENDPOINTS.iter().any(is_set) {
        return Ok(None);
    }
    let exporter = opentelemetry_otlp::SpanExporter::builder().with_http().build();
    exporter.map(Some).map_err(|error| eyre!("traces cannot be sent as OTEL_EXPORTER_OTLP_… says: {error}"))
}

/// Connects to the collector of traces, if the environment names one.
fn collector() -> Result<Option<SdkTracerProvider>> {
    let Some(exporter) = exporter()? else { return Ok(None) };
    let mut resource = Resource::builder();
    if !is_set(&"OTEL_SERVICE_NAME") {
        resource = resource.with_service_name("braid");
    }
    Ok(Some(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource.build()).build()))
}

/// Returns whether a variable is set, and not empty.
fn is_set(name: &&str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}
