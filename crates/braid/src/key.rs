//! Reads private keys from a file or the environment, never from the command line. Never prints them.

use std::path::{Path, PathBuf};

use alloy::signers::local::PrivateKeySigner;
use eyre::Result;

use crate::exit::usage;

/// Variable with a private key, if no file is named.
pub(crate) const VARIABLE: &str = "BRAID_PRIVATE_KEY";

/// Variable with a keystore's password, if no file is named.
const PASSWORD_VARIABLE: &str = "BRAID_KEY_PASSWORD";

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Key")]
pub(crate) struct KeyArgs {
    /// A file with the private key that signs: 64 hexadecimal digits, or a keystore in JSON. Without it, the key is
    /// read from the environment variable BRAID_PRIVATE_KEY
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// A file with the keystore's password. Without it, the password is read from BRAID_KEY_PASSWORD, or asked for on
    /// the terminal
    #[arg(long, value_name = "FILE", requires = "key_file")]
    password_file: Option<PathBuf>,
}

impl KeyArgs {
    /// Reads the key.
    pub(crate) fn read(&self) -> Result<PrivateKeySigner> {
        let found = match &self.key_file {
            Some(file) => of_file(file, self.password_file.as_deref())?,
            None => from_variable()?,
        };
        found.ok_or_else(|| {
            usage(format!("no key is named: give --key-file FILE, or set {VARIABLE} in the environment"))
        })
    }
}

/// Reads the key in the environment, if there is one.
pub(crate) fn from_variable() -> Result<Option<PrivateKeySigner>> {
    std::env::var(VARIABLE).ok().map(|text| plain(&text, VARIABLE)).transpose()
}

/// Reads the key of a file: hex digits, or a keystore.
pub(crate) fn of_file(file: &Path, password_file: Option<&Path>) -> Result<Option<PrivateKeySigner>> {
    let place = file.display().to_string();
    let text = secret(file, "private key")?;
    if text.trim_start().starts_with('{') {
        let opened = eth_keystore::decrypt_key(file, password(&place, password_file)?);
        let bytes = opened
            .map_err(|_| usage(format!("{place} cannot be opened: the password is wrong, or it is no keystore")))?;
        let key = PrivateKeySigner::from_slice(&bytes)
            .map_err(|_| usage(format!("{place} holds no private key of Ethereum")))?;
        return Ok(Some(key));
    }
    plain(&text, &place).map(Some)
}

fn plain(text: &str, place: &str) -> Result<PrivateKeySigner> {
    // do not repeat the text: it may be a key with a typing error
    text.trim().parse().map_err(|_| usage(format!("{place} holds no private key: 64 hexadecimal digits are")))
}

fn password(place: &str, file: Option<&Path>) -> Result<String> {
    if let Some(file) = file {
        return Ok(secret(file, "password")?.trim_end_matches(['\r', '\n']).to_owned());
    }
    if let Ok(password) = std::env::var(PASSWORD_VARIABLE) {
        return Ok(password);
    }
    rpassword::prompt_password(format!("Password of {place}: ")).map_err(|_| {
        usage(format!(
            "{place} needs a password: --password-file FILE, {PASSWORD_VARIABLE} in the environment, or a terminal"
        ))
    })
}

fn secret(file: &Path, what: &str) -> Result<String> {
    let text = std::fs::read_to_string(file);
    text.map_err(|error| usage(format!("the {what} cannot be read from {}: {error}", file.display())))
}
