//! Follows an Ethereum node: transports, discovery, synchronisation, reorganisations.
