//! Finds options of `braid serve` that only a service with a node uses.

use clap::{Arg, ArgMatches, Args, Command, CommandFactory as _, FromArgMatches};

/// The options among them that differ from their defaults, by long name, whether set by flag, variable or file. Adds no
/// option itself.
#[derive(Clone, Debug)]
pub(crate) struct NodeOnly(pub(crate) Vec<String>);

/// Returns whether only a service with a node uses an option.
fn is_node_only(arg: &Arg) -> bool {
    let group = arg.get_help_heading().is_some_and(|heading| ["Nodes", "Pools"].contains(&heading));
    let name = arg.get_long().unwrap_or_default();
    group || name == "simulation-ms" || name.starts_with("snapshot") || name.starts_with("audit-")
}

impl FromArgMatches for NodeOnly {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        // the matches have the configuration file's values as defaults: take the real ones from a command without the file
        let mut plain = crate::Cli::command();
        plain.build();
        let options = plain.find_subcommand("serve").into_iter().flat_map(Command::get_arguments);
        let changed = |arg: &&Arg| match matches.try_get_raw(arg.get_id().as_str()) {
            Ok(Some(values)) => !values.eq(arg.get_default_values().iter().map(|value| value.as_os_str())),
            _ => false,
        };
        let given = options.filter(|arg| is_node_only(arg)).filter(changed);
        Ok(Self(given.filter_map(Arg::get_long).map(|long| format!("--{long}")).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for NodeOnly {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
