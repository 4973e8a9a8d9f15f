//! Quotes and API keys in an embedded database.
