//! Reads a pool's storage words and those of its tokens in the liquidity layer.

use alloy_primitives::{Address, U256};
use alloy_sol_types::sol;

use super::Storage;
use crate::{
    fluid::{
        arith::small_bits,
        reading::{LIQUIDITY, paused, slot, token, word},
    },
    reading::{Reading, Stop},
};

sol! {
    struct Implementations {
        address shift;
        address admin;
        address colOperations;
        address debtOperations;
        address perfectOperationsAndSwapOut;
    }
    struct ConstantViews {
        uint256 dexId;
        address liquidity;
        address factory;
        Implementations implementations;
        address deployerContract;
        address token0;
        address token1;
        bytes32 supplyToken0Slot;
        bytes32 borrowToken0Slot;
        bytes32 supplyToken1Slot;
        bytes32 borrowToken1Slot;
        bytes32 exchangePriceToken0Slot;
        bytes32 exchangePriceToken1Slot;
        uint256 oracleMapping;
    }
    function constantsView() external view returns (ConstantViews memory constants);
    function centerPrice() external returns (uint256 price);
}

/// Slots of a pool: `dexVariables`, `dexVariables2`, `_rangeShift` and `_thresholdShift`, `_centerPriceShift`. Source:
/// `DexSlotsLink`.
const POOL_SLOTS: [u64; 4] = [0, 1, 7, 8];

/// Returns the deployer's nonce of the contract that determines the centre price; zero if there is none.
fn nonce_of(variables2: U256) -> u64 {
    small_bits(variables2, 112, 30)
}

/// Reads one pool in a round. A second round asks the contract of the centre price if it was not known before.
/// Constants from an earlier reading are reused.
pub(super) fn read(
    pool: Address,
    tokens: [Address; 2],
    was: Option<&Storage>,
    reading: &mut Reading,
) -> Result<Storage, Stop> {
    let words = POOL_SLOTS.map(|number| word(pool, slot(number), reading));
    let constants = was.is_none().then(|| reading.ask(pool, &constantsViewCall {}));
    let layer_paused = paused(reading);
    let told_by = was.and_then(|was| was.centre_told_by);
    let told = told_by.map(|teller| reading.ask(teller, &centerPriceCall {}));
    let decimals = was.map(|was| was.decimals);
    let [first, second] = tokens;
    let first = token(first, pool, decimals.map(|[first, _]| first), reading);
    let (second, decimals1) = token(second, pool, decimals.map(|[_, second]| second), reading)?;
    let ((first, decimals0), [variables, variables2, shifts, centre_shift]) = (first?, words);
    let mut storage = Storage {
        addresses: tokens,
        decimals: [decimals0, decimals1],
        variables: variables?,
        variables2: variables2?,
        shifts: shifts?,
        centre_shift: centre_shift?,
        external_centre: None,
        centre_told_by: None,
        tokens: [first, second],
        layer_paused: layer_paused?,
    };
    let constants = constants.transpose()?;
    if constants.as_ref().is_some_and(|of| of.liquidity != LIQUIDITY || [of.token0, of.token1] != tokens) {
        return Err(reading.impossible("another liquidity layer, or other tokens"));
    }
    let nonce = nonce_of(storage.variables2);
    if nonce == 0 {
        return Ok(storage);
    }
    let same = was.is_some_and(|was| nonce_of(was.variables2) == nonce);
    (storage.centre_told_by, storage.external_centre) = match (constants, told) {
        // address of the deployer's n-th contract. Source: `AddressCalcs.addressCalc`
        (Some(constants), _) => {
            let teller = constants.deployerContract.create(nonce);
            (Some(teller), Some(reading.ask(teller, &centerPriceCall {})?))
        }
        (None, Some(price)) if same => (told_by, Some(price?)),
        // another contract determines the centre now: read everything
        (None, _) => return read(pool, tokens, None, reading),
    };
    Ok(storage)
}

/// Reads only the centre price from its contract.
pub(super) fn read_centre(storage: &Storage, reading: &mut Reading) -> Result<Storage, Stop> {
    let external_centre = match storage.centre_told_by {
        Some(teller) => Some(reading.ask(teller, &centerPriceCall {})?),
        None => storage.external_centre,
    };
    Ok(Storage { external_centre, ..storage.clone() })
}
