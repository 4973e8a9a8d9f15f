//! Reads a Vault V2 (the vault, its adapters, their contents, and the markets) and compares the model with its
//! previews.
//!
//! Known adapters are those of Morpho Blue's markets, in both versions, and of MetaMorpho vaults. A vault with another
//! adapter is excluded.

use std::{ops::Range, sync::Arc};

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_sol_types::{SolValue, sol};

use super::{Adapter, Cap, Liquidity, VaultV2};
use crate::{
    Discovered, StateReader,
    morpho::{
        MAX_QUEUE, MORPHO_BLUE,
        reader::{self as metamorpho, Previews, held, holding, shares},
    },
    reading::{self, Reading, Stop, all, is},
};

sol! {
    struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }

    // views of a vault
    function liquidityData() external view returns (bytes memory);
    function adapters(uint256 index) external view returns (address);
    function allocation(bytes32 id) external view returns (uint256);
    function absoluteCap(bytes32 id) external view returns (uint256);
    function relativeCap(bytes32 id) external view returns (uint256);

    // views of adapters
    function morpho() external view returns (address);
    function marketIdsLength() external view returns (uint256);
    function marketIds(uint256 index) external view returns (bytes32);
    function supplyShares(bytes32 id) external view returns (uint256);
    function marketParamsListLength() external view returns (uint256);
    function marketParamsList(uint256 index) external view returns (MarketParams params);
    function morphoVaultV1() external view returns (address);
}

/// Maximum number of adapters, and of markets of one, that are read.
const MOST: usize = 64;

/// Maximum number of markets of all adapters that are read; a MetaMorpho vault counts as its longest queue. A reading
/// makes six calls for each.
const MOST_MARKETS: usize = 256;

/// Kind of an adapter.
#[derive(Clone, Debug)]
enum Kind {
    /// Adapter of markets; `own_shares` if the adapter counts its shares itself.
    Markets { own_shares: bool, count: Range<usize> },
    /// Adapter of a MetaMorpho vault.
    Vault(Address),
}

impl Kind {
    /// Returns the number of markets that it may have.
    fn markets(&self) -> usize {
        match self {
            Self::Markets { count, .. } => count.len(),
            Self::Vault(_) => MAX_QUEUE,
        }
    }
}

/// Computes the id under which the vault counts all assets of an adapter.
fn adapter_id(adapter: Address) -> B256 {
    keccak256(("this".to_owned(), adapter).abi_encode_params())
}

fn market_id(params: &MarketParams) -> B256 {
    keccak256(params.abi_encode())
}

fn few(count: U256, reading: &Reading) -> Result<Range<usize>, Stop> {
    let count = usize::try_from(count).ok().filter(|count| *count <= MOST);
    Ok(0..count.ok_or(reading.impossible("more than 64 adapters or markets"))?)
}

fn kind(adapter: Address, reading: &mut Reading) -> Result<Kind, Stop> {
    let (blue, inner) = (reading.try_ask(adapter, &morphoCall {}), reading.try_ask(adapter, &morphoVaultV1Call {}));
    let ids = reading.try_ask(adapter, &marketIdsLengthCall {});
    let list = reading.try_ask(adapter, &marketParamsListLengthCall {})?;
    Ok(match (blue?, ids?, list, inner?) {
        (Some(MORPHO_BLUE), Some(count), None, None) => Kind::Markets { own_shares: true, count: few(count, reading)? },
        (Some(MORPHO_BLUE), None, Some(count), None) => {
            Kind::Markets { own_shares: false, count: few(count, reading)? }
        }
        (None, None, None, Some(vault)) => Kind::Vault(vault),
        _ => return Err(reading.impossible("an unknown adapter")),
    })
}

/// Reads the contents of an adapter. Deposits may go to `target`, a market that is still empty.
fn contents(
    [vault, asset, adapter]: [Address; 3],
    kind: &Kind,
    target: Option<B256>,
    reading: &mut Reading,
) -> Result<Adapter, Stop> {
    let (own_shares, count) = match kind {
        Kind::Markets { own_shares, count } => (*own_shares, count.clone()),
        Kind::Vault(address) => {
            let shares = held(*address, adapter, reading);
            let allocation = reading.ask(vault, &allocationCall { id: adapter_id(adapter) });
            let inner = metamorpho::read(*address, asset, reading)?;
            let (shares, allocated) = (shares?, !allocation?.is_zero());
            return Ok(Adapter::Vault { address: *address, vault: inner.into(), shares, allocated });
        }
    };
    let mut ids = all(count.map(U256::from).map(|index| {
        if own_shares {
            reading.ask(adapter, &marketIdsCall { index })
        } else {
            reading.ask(adapter, &marketParamsListCall { index }).map(|params| market_id(&params))
        }
    }))?;
    ids.extend(target.filter(|id| !ids.contains(id)));
    let holdings = ids.into_iter().map(|id| {
        let shares =
            if own_shares { reading.ask(adapter, &supplySharesCall { id }) } else { shares(id, adapter, reading) };
        // the vault's caps apply, not the market's
        holding(id, shares, Ok(U256::MAX), reading)
    });
    Ok(Adapter::Markets(all(holdings)?.into()))
}

fn cap(vault: Address, id: B256, reading: &mut Reading) -> Result<Cap, Stop> {
    let allocation = reading.ask(vault, &allocationCall { id });
    let absolute_assets = reading.ask(vault, &absoluteCapCall { id });
    let relative_wad = reading.ask(vault, &relativeCapCall { id })?;
    Ok(Cap { allocation: allocation?, absolute_assets: absolute_assets?, relative_wad })
}

/// Returns a reader for a block without logs that concern a vault: of the assets that it holds and counts. It reads the
/// whole vault only if they are not those of the earlier state.
pub(super) fn each_block(pool: &Discovered, was: &Arc<VaultV2>) -> Box<dyn StateReader> {
    let (vault, asset) = (pool.key.contract, pool.coins.first().copied().unwrap_or_default());
    let was = Arc::clone(was);
    reading::reader(vault, move |reading| {
        let (timestamp, idle_assets) = (reading.timestamp(), held(asset, vault, reading));
        let total_assets = reading.word(vault, "totalAssets()")?;
        let (timestamp, idle_assets) = (timestamp?, idle_assets?);
        let counted = was.at(timestamp).map(|now| now.total_assets);
        if idle_assets == was.idle_assets && counted == Some(total_assets) {
            return Ok(Arc::clone(&was));
        }
        read(vault, asset, reading).map(Arc::new)
    })
}

/// Reads a vault.
pub(super) fn read(vault: Address, asset: Address, reading: &mut Reading) -> Result<VaultV2, Stop> {
    let (timestamp, previews) = (reading.timestamp(), Previews::ask(vault, reading));
    let (idle_assets, morpho_balance_assets) = (held(asset, vault, reading), held(asset, MORPHO_BLUE, reading));
    let liquidity_data = reading.ask(vault, &liquidityDataCall {});
    let numbers =
        reading.words(vault, ["totalSupply()", "virtualShares()", "_totalAssets()", "lastUpdate()", "maxRate()"]);
    let fees_wad = reading.words(vault, ["performanceFee()", "managementFee()"]);
    let gates =
        reading.words(vault, ["receiveSharesGate()", "sendSharesGate()", "receiveAssetsGate()", "sendAssetsGate()"]);
    let [asset_said, liquidity_adapter, count] =
        reading.words(vault, ["asset()", "liquidityAdapter()", "adaptersLength()"])?;
    let [total_shares, virtual_shares, total_assets, last_update, max_rate_wad] = numbers?;
    let (fees_wad, [receive_shares, send_shares, receive_assets, send_assets]) = (fees_wad?, gates?);
    if !is(asset_said, asset) {
        return Err(reading.impossible("another asset than announced"));
    }
    if !receive_shares.is_zero() && fees_wad.iter().any(|fee| !fee.is_zero()) {
        // the gate also decides who receives fees
        return Err(reading.impossible("a gate on shares and fees"));
    }
    let count = few(count, reading)?;
    let found = all(count.map(|n| reading.ask(vault, &adaptersCall { index: U256::from(n) })))?;
    let kinds = all(found.iter().map(|adapter| kind(*adapter, reading)))?;
    if kinds.iter().map(Kind::markets).sum::<usize>() > MOST_MARKETS {
        return Err(reading.impossible("more than 256 markets in all adapters"));
    }

    // the destination of deposits, and its caps, the narrowest last
    let data = liquidity_data?;
    let place = found.iter().position(|adapter| is(liquidity_adapter, *adapter));
    let params = match place.and_then(|place| kinds.get(place)) {
        Some(Kind::Markets { .. }) => MarketParams::abi_decode_validate(&data).ok(),
        _ => None,
    };
    let target = params.as_ref().map(market_id);
    let mut caps = Vec::new();
    if !liquidity_adapter.is_zero() {
        let adapter = Address::from_word(liquidity_adapter.into());
        caps.push(adapter_id(adapter));
        if let Some(params) = params {
            caps.push(keccak256(("collateralToken".to_owned(), params.collateralToken).abi_encode_params()));
            caps.push(keccak256(("this/marketParams".to_owned(), adapter, params).abi_encode_params()));
        }
    }
    let caps = all(caps.into_iter().map(|id| cap(vault, id, reading)));
    let adapters = all(found.iter().zip(&kinds).enumerate().map(|(n, (adapter, kind))| {
        contents([vault, asset, *adapter], kind, target.filter(|_| Some(n) == place), reading)
    }))?;
    let caps = caps?;
    let market = match place.and_then(|place| adapters.get(place)) {
        Some(Adapter::Markets(holdings)) => holdings.iter().position(|holding| Some(holding.id) == target),
        Some(Adapter::Vault { .. }) if data.is_empty() => Some(0),
        _ => None,
    };
    let liquidity = if liquidity_adapter.is_zero() {
        None
    } else {
        let narrowed = |index: Option<usize>| {
            let narrowed = index.and_then(|index| u8::try_from(index).ok());
            narrowed.ok_or(reading.impossible("a liquidity adapter or market that does not exist"))
        };
        Some(Liquidity { adapter: narrowed(place)?, market: narrowed(market)?, caps: caps.into_iter().collect() })
    };
    let read = VaultV2 {
        total_shares,
        virtual_shares,
        total_assets,
        last_update: reading.narrow(last_update)?,
        max_rate_wad: reading.narrow(max_rate_wad)?,
        performance_fee_wad: fees_wad[0],
        management_fee_wad: fees_wad[1],
        idle_assets: idle_assets?,
        adapters: adapters.into(),
        liquidity,
        morpho_balance_assets: morpho_balance_assets?,
        deposits_gated: !(receive_shares | send_assets).is_zero(),
        redemptions_gated: !(send_shares | receive_assets).is_zero(),
    };
    let now = read.at(timestamp?).ok_or(reading.impossible("numbers that overflow its arithmetic"))?;
    let agree = previews?.agree(|assets| now.shares_of(assets), |shares| now.assets_of(shares));
    if agree { Ok(read) } else { Err(reading.impossible("previews that do not follow from its adapters")) }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Bytes;
    use alloy_sol_types::SolCall;

    use super::*;
    use crate::{Call, ReadProgress};

    /// A vault with 64 adapters of 64 markets each took 16,000 calls at every reading.
    #[test]
    fn a_vault_with_too_many_markets_is_refused_after_few_calls() {
        let [vault, asset] = [1, 2].map(Address::repeat_byte);
        let word = |word: U256| Some(Bytes::from(word.to_be_bytes::<32>()));
        let answer = |call: &Call| match call.data.get(..4)? {
            view if *view == keccak256("asset()")[..4] => word(U256::from_be_bytes(asset.into_word().0)),
            view if *view == keccak256("adaptersLength()")[..4] => word(U256::from(64)),
            view if *view == adaptersCall::SELECTOR => Some(Bytes::copy_from_slice(call.data.get(4..)?)),
            view if *view == morphoCall::SELECTOR => word(U256::from_be_bytes(MORPHO_BLUE.into_word().0)),
            view if *view == marketIdsLengthCall::SELECTOR => word(U256::from(64)),
            view if *view == marketParamsListLengthCall::SELECTOR => None,
            view if *view == morphoVaultV1Call::SELECTOR => None,
            _ => word(U256::ZERO),
        };
        let mut reader = reading::reader(vault, move |reading| read(vault, asset, reading).map(Arc::new));
        let (mut progress, mut calls) = (reader.start(), 0);
        let error = loop {
            let ReadProgress::Calls(asked) = progress else { panic!("it was read") };
            calls += asked.len();
            assert!(calls < 500, "{calls} calls");
            match reader.feed(&asked.iter().map(answer).collect::<Vec<_>>()) {
                Ok(next) => progress = next,
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("more than 256 markets"), "{error}");
    }
}
