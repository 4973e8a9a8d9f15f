//! Fuzzes the readers of a node's answers: logs, return data of contracts, and the JSON around them.

use std::collections::BTreeSet;

use alloy_primitives::{Address, B256, Bytes, Log, LogData};
use braid_ethereum::{Catalog, apply_logs};
use braid_protocols::{Discovered, Product, ReadProgress};

use crate::samples;

/// Maximum number of rounds for which a reader gets answers.
const ROUNDS: usize = 12;

/// A reader that takes bytes from the front of the input; it returns none once the input is used up.
struct Bites<'a>(&'a [u8]);

impl Bites<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken.to_vec()
    }

    fn word(&mut self) -> B256 {
        B256::right_padding_from(&self.take(32))
    }
}

fn one_of<T: Copy>(list: &[T], number: u8) -> Option<T> {
    list.get(usize::from(number) % list.len().max(1)).copied()
}

/// Feeds logs of known pools and factories, with relevant topics; the data comes from the fuzzer.
pub(crate) fn logs(data: &[u8]) {
    let (catalog, market, mut bites) = (Catalog::new(Product::ALL), samples::market(), Bites(data));
    let sources: Vec<_> = Product::ALL.iter().flat_map(|product| product.sources()).collect();
    let freshness = Product::ALL.iter().flat_map(|product| product.freshness_topics().iter().copied());
    let topics: Vec<B256> = sources.iter().map(|source| source.topic0).chain(freshness).collect();
    let pools = market.pools().iter().map(|pool| pool.key.contract);
    let emitters: Vec<Address> = pools.chain(sources.iter().map(|source| source.emitter)).collect();
    let mut logs = Vec::new();
    while !bites.0.is_empty() && logs.len() < 8 {
        let address = one_of(&emitters, bites.byte()).unwrap_or_default();
        let topic0 = one_of(&topics, bites.byte()).unwrap_or_default();
        let shape = bites.byte();
        let more = (0..shape % 4).map(|_| bites.word()).collect::<Vec<_>>();
        let data = bites.take(32 * usize::from(shape / 4));
        let topics = std::iter::once(topic0).chain(more).collect();
        logs.push(Log { address, data: LogData::new_unchecked(topics, data.into()) });
    }
    let just_read: BTreeSet<_> = market.pools().iter().map(|pool| pool.key).collect();
    for just_read in [BTreeSet::new(), just_read] {
        let change = apply_logs(&catalog, &market, &just_read, &logs);
        for pool in &change.changed {
            let valid = pool.product.validate(&pool.state, pool.coins.len());
            assert_eq!(valid, Ok(()), "logs led {} into an impossible state", pool.key);
        }
        assert!(market.next(samples::block(8), market.tokens().clone(), change.changed).is_ok());
    }
}

pub(crate) fn logs_seeds() -> Vec<Vec<u8>> {
    // Every topic index, from each pool, with four words of data in which every byte is 1.
    (0..=255u8).flat_map(|topic| [0, 1].map(|pool| [&[pool, topic, 16][..], &[1; 128]].concat())).collect()
}

/// Feeds arbitrary answers to a reader of any product.
pub(crate) fn answers(data: &[u8]) {
    let mut bites = Bites(data);
    let Some(product) = one_of(Product::ALL, bites.byte()) else { return };
    let coins = (0..2 + bites.byte() % 3).map(|byte| Address::with_last_byte(byte + 1)).collect::<Vec<_>>();
    let discovered =
        Discovered { key: Address::with_last_byte(7).into(), product, coins, fee_pips: 3_000, tick_spacing: 60 };
    let readers = [Some(product.reader(&discovered)), product.lens_reader(&discovered)];
    for mut reader in readers.into_iter().flatten() {
        let mut bites = Bites(bites.0);
        let mut progress = Ok(reader.start());
        for _ in 0..ROUNDS {
            match progress {
                Ok(ReadProgress::Calls(calls)) => {
                    let answers: Vec<_> = calls.iter().map(|_| answer(&mut bites)).collect();
                    progress = reader.feed(&answers);
                }
                Ok(ReadProgress::Done(state)) => {
                    let _ = product.validate(&state, discovered.coins.len());
                    break;
                }
                Err(_) => break,
            }
        }
    }
}

/// Returns a revert, small words, or arbitrary bytes.
fn answer(bites: &mut Bites<'_>) -> Option<Bytes> {
    let shape = bites.byte();
    match shape % 4 {
        0 if shape == 0 => None,
        0 | 1 => Some(B256::with_last_byte(shape / 4).into()),
        2 => Some(bites.take(32 * usize::from(shape / 4)).into()),
        _ => {
            let words = (0..shape / 4).flat_map(|_| B256::with_last_byte(bites.byte()).0);
            Some(words.collect::<Vec<u8>>().into())
        }
    }
}

pub(crate) fn answers_seeds() -> Vec<Vec<u8>> {
    let products = u8::try_from(Product::ALL.len()).unwrap_or(u8::MAX);
    (0..products).flat_map(|product| [5, 75].map(|shape| [&[product, 0][..], &[shape; 64]].concat())).collect()
}

/// Feeds a node's JSON.
pub(crate) fn rpc(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        braid_ethereum::read_as_any_answer(text);
    }
}

pub(crate) fn rpc_seeds() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"number":"0x10","hash":"0x0000000000000000000000000000000000000000000000000000000000000007","parentHash":"0x0000000000000000000000000000000000000000000000000000000000000006","timestamp":"0x65","baseFeePerGas":"0x7","gasUsed":"0x5208","gasLimit":"0x1c9c380"}"#,
        r#"[{"address":"0x0000000000000000000000000000000000000011","topics":["0x1c411e9a96e071241c2f21f7726b17ae89e3cab4c78be50e062b03a9fffbbad1"],"data":"0x00","blockNumber":"0x10","blockHash":"0x0000000000000000000000000000000000000000000000000000000000000007","transactionHash":"0x0000000000000000000000000000000000000000000000000000000000000001","transactionIndex":"0x0","logIndex":"0x0","removed":false}]"#,
        r#"{"oldestBlock":"0x1","baseFeePerGas":["0x1","0x2"],"gasUsedRatio":[0.5],"reward":[["0x1","0x2","0x3","0x4"]]}"#,
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}
