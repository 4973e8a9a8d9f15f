//! Compares Curve's pools with the bytecode of Curve's own contracts, of those in the test suite of the Vyper compiler:
//! a pre-release of StableSwap-NG, whose invariant still rounds like that of the classic pools; the first two-coin
//! CryptoSwap; and the maths contract of Tricrypto-NG.
//!
//! They are compiled on the first run, which needs Python 3 and its package registry. Without these, the tests print
//! that and do nothing.

use std::{collections::BTreeMap, path::Path, process::Command, sync::OnceLock};

use alloy_primitives::{Address, Bytes, FixedBytes, I256, U256, address, keccak256};
use alloy_sol_types::{SolCall, SolValue, sol};
use braid_primitives::ExecutionBlock;
use braid_protocols::curve::crypto::{self, AmpGamma, ClassicTwo, Kind, Repricing};
use braid_protocols::curve::read::{CryptoReading, StableReading};
use braid_protocols::curve::stable::{Amplification, BasePool, ProductRule, Rates, Rules, State};
use braid_protocols::{Call, SwapError};
use revm::{
    Context, ExecuteCommitEvm, ExecuteEvm, MainBuilder, MainContext, MainnetEvm,
    bytecode::Bytecode,
    context::{BlockEnv, CfgEnv, TxEnv, result::ExecutionResult},
    database::{CacheDB, EmptyDB},
    primitives::{TxKind, hardfork::SpecId},
    state::AccountInfo,
};

sol! {
    function mint(address to, uint256 amount) external returns (bool);
    function balanceOf(address owner) external view returns (uint256);
    function totalSupply() external view returns (uint256);
    function balances(uint256 coin) external view returns (uint256);
    function D() external view returns (uint256);
    function price_scale() external view returns (uint256);
    function price_oracle() external view returns (uint256);
    function last_prices() external view returns (uint256);
    function last_prices_timestamp() external view returns (uint256);
    function xcp_profit() external view returns (uint256);
    function virtual_price() external view returns (uint256);
    function newton_D(uint256 amp, uint256 gamma, uint256[3] x, uint256 k0) external view returns (uint256);
    function get_y(uint256 amp, uint256 gamma, uint256[3] x, uint256 d, uint256 i) external view returns (uint256[2]);
    function get_p(uint256[3] x, uint256 d, uint256[2] shape) external view returns (uint256[2]);
    function geometric_mean(uint256[3] x) external view returns (uint256);
    function reduction_coefficient(uint256[3] x, uint256 fee_gamma) external view returns (uint256);
    function wad_exp(int256 power) external view returns (uint256);
    function remove_liquidity_one_coin(uint256 shares, uint128 coin, uint256 least) external returns (uint256);

    interface NextGeneration {
        function exchange(uint128 i, uint128 j, uint256 dx, uint256 min_dy) external returns (uint256);
        function add_liquidity(uint256[] amounts, uint256 least) external returns (uint256);
    }
    interface TwoCoins {
        function exchange(uint256 i, uint256 j, uint256 dx, uint256 min_dy) external;
        function add_liquidity(uint256[2] amounts, uint256 least) external;
    }
}

const OWNER: Address = address!("00000000000000000000000000000000000a11ce");
/// The addresses of the share token and the coins that `contracts/curve_bytecode.py` builds into the two-coin pool.
const SHARES: Address = address!("00000000000000000000000000000000000c0001");
const COINS: [Address; 2] =
    [address!("00000000000000000000000000000000000c0010"), address!("00000000000000000000000000000000000c0011")];

fn u(value: u64) -> U256 {
    U256::from(value)
}

fn e(power: u64) -> U256 {
    u(10).pow(u(power))
}

/// Returns creation code by contract name. If it is not available, prints that and returns `None`.
fn bundle() -> Option<&'static BTreeMap<String, String>> {
    static BUNDLE: OnceLock<Option<BTreeMap<String, String>>> = OnceLock::new();
    let bundle = BUNDLE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contracts");
        let inputs = ["curve_bytecode.py", "Coin.vy"].map(|name| std::fs::read(folder.join(name)).unwrap());
        let key = keccak256(inputs.concat()).to_string();
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("curve-{}.json", &key[2..18]));
        if !file.is_file() {
            let draft = file.with_extension(format!("{}.draft", std::process::id()));
            let script = folder.join("curve_bytecode.py");
            let run = Command::new("python3").arg("-B").arg(script).arg(&draft).output().ok()?;
            if !run.status.success() {
                return None;
            }
            std::fs::rename(draft, &file).unwrap();
        }
        Some(serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap())
    });
    if bundle.is_none() {
        println!("skipped: Curve's contracts could not be compiled here (Python 3 and its package registry)");
    }
    bundle.as_ref()
}

struct Chain {
    evm: MainnetEvm<Context<BlockEnv, TxEnv, CfgEnv, CacheDB<EmptyDB>>>,
    nonce: u64,
}

impl Chain {
    fn new() -> Self {
        let mut cfg = CfgEnv::new_with_spec(SpecId::CANCUN);
        cfg.disable_nonce_check = true;
        cfg.disable_block_gas_limit = true;
        cfg.disable_base_fee = true;
        cfg.limit_contract_code_size = Some(usize::MAX);
        cfg.limit_contract_initcode_size = Some(usize::MAX);
        let block = BlockEnv { number: u(1), timestamp: u(1_700_000_000), ..Default::default() };
        let context = Context::mainnet().with_db(CacheDB::new(EmptyDB::new())).with_cfg(cfg).with_block(block);
        Self { evm: context.build_mainnet(), nonce: 0 }
    }

    fn at(&self) -> ExecutionBlock {
        let block = &self.evm.ctx.block;
        ExecutionBlock { number: block.number.to(), timestamp: block.timestamp.to() }
    }

    fn wait(&mut self, seconds: u64) {
        self.evm.ctx.block.timestamp += u(seconds);
    }

    fn deploy(&mut self, code: &str, arguments: &[u8]) -> Address {
        let code = [code.parse::<Bytes>().unwrap().as_ref(), arguments].concat();
        let tx = TxEnv { kind: TxKind::Create, data: code.into(), nonce: self.nonce, ..transaction() };
        self.nonce += 1;
        match self.evm.transact_commit(tx).unwrap() {
            ExecutionResult::Success { output, .. } => *output.address().unwrap(),
            other => panic!("not deployed: {other:?}"),
        }
    }

    /// Places a test coin at this address.
    fn put_coin(&mut self, coin: &str, at: Address) {
        let sample = self.deploy(coin, &[]);
        let code = self.evm.ctx.journaled_state.database.cache.accounts[&sample].info.code.clone().unwrap();
        let info = AccountInfo::default().with_code(Bytecode::new_legacy(code.original_bytes()));
        self.evm.ctx.journaled_state.database.insert_account_info(at, info);
    }

    /// Calls and keeps the changes; `None` if the call reverts.
    fn send<C: SolCall>(&mut self, to: Address, call: &C) -> Option<C::Return> {
        let nonce = self.nonce;
        let tx = TxEnv { kind: TxKind::Call(to), data: call.abi_encode().into(), nonce, ..transaction() };
        self.nonce += 1;
        answer::<C>(self.evm.transact_commit(tx).unwrap())
    }

    /// Calls and discards the changes; `None` if the call reverts.
    fn ask<C: SolCall>(&mut self, to: Address, call: &C) -> Option<C::Return> {
        let tx = TxEnv { kind: TxKind::Call(to), data: call.abi_encode().into(), ..transaction() };
        answer::<C>(self.evm.transact(tx).unwrap().result)
    }

    /// Returns the answers to one round of calls.
    fn answer(&mut self, calls: Vec<Call>) -> Vec<Option<Bytes>> {
        let mut ask = |call: Call| {
            let tx = TxEnv { kind: TxKind::Call(call.to), data: call.data, ..transaction() };
            match self.evm.transact(tx).unwrap().result {
                ExecutionResult::Success { output, .. } => Some(output.into_data()),
                ExecutionResult::Revert { .. } | ExecutionResult::Halt { .. } => None,
            }
        };
        calls.into_iter().map(&mut ask).collect()
    }

    fn word(&mut self, to: Address, call: &impl SolCall<Return = U256>) -> U256 {
        self.ask(to, call).unwrap()
    }
}

fn transaction() -> TxEnv {
    TxEnv { caller: OWNER, gas_limit: 1_000_000_000, gas_price: 0, chain_id: Some(1), ..Default::default() }
}

fn answer<C: SolCall>(result: ExecutionResult) -> Option<C::Return> {
    match result {
        ExecutionResult::Success { output, .. } => {
            // Calls that return nothing.
            let data = output.into_data();
            Some(C::abi_decode_returns(&data).unwrap())
        }
        ExecutionResult::Revert { .. } => None,
        ExecutionResult::Halt { reason, .. } => panic!("a contract halted: {reason:?}"),
    }
}

/// A random number generator (SplitMix64). Every run tries the same cases.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.word() % end
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Returns a part of an amount: from one wei to four tenths of it, with every size equally likely.
    fn part(&mut self, of: U256) -> U256 {
        let length = self.between(1, of.bit_len() as u64);
        let raw = U256::from_limbs([self.word(), self.word(), self.word(), 0]) % (U256::ONE << length as usize);
        raw.min(of * u(2) / u(5)).max(U256::ONE)
    }
}

/// Makes twenty thousand swaps, with withdrawals between them, in pools of two to four coins with and without a dynamic
/// fee. All must be equal to the wei, and the contract must refuse what the model refuses. The balances between swaps
/// are the model's.
#[test]
fn stableswap_ng_pays_what_its_bytecode_pays() {
    let Some(bundle) = bundle() else { return };
    let (mut random, mut compared, mut withdrawn) = (Random(1), 0, 0);
    for round in 0..40 {
        let coins = 2 + round % 3;
        let decimals: Vec<u64> = (0..coins).map(|_| [6, 8, 18][random.below(3) as usize]).collect();
        let mut chain = Chain::new();
        let tokens: Vec<Address> = (0..coins).map(|_| chain.deploy(&bundle["Coin"], &[])).collect();
        let amp = random.between(10, 5_000);
        let fee = random.between(0, 50_000_000);
        let offpeg = if round % 2 == 0 { 0 } else { random.between(10_000_000_000, 100_000_000_000) };
        let rates: Vec<U256> = decimals.iter().map(|decimals| e(36 - decimals)).collect();
        let name = || "P".to_owned();
        let numbers = (name(), name(), u(amp), u(fee), u(offpeg), u(866), tokens.clone(), rates.clone());
        let (kinds, methods) = (vec![U256::ZERO; coins], vec![FixedBytes::<4>::ZERO; coins]);
        let (a, b, c, d, o, t, k, r) = numbers;
        let encoded = (a, b, c, d, o, t, k, r, kinds, methods, vec![Address::ZERO; coins]).abi_encode_params();
        let pool = chain.deploy(&bundle["CurveStableSwapNG"], &encoded);
        let size = random.between(1_000, 100_000_000);
        let amounts: Vec<U256> =
            decimals.iter().map(|decimals| u(size) * u(random.between(30, 300)) * e(*decimals) / u(100)).collect();
        for token in &tokens {
            chain.send(*token, &mintCall { to: OWNER, amount: e(40) }).unwrap();
        }
        chain.send(pool, &NextGeneration::add_liquidityCall { amounts: amounts.clone(), least: U256::ZERO }).unwrap();
        let mut state = State {
            balances: amounts.into_iter().collect(),
            rates: Rates::fixed(rates),
            amplification: Amplification::constant(u(amp * 100), 100),
            fee,
            offpeg_fee_multiplier: offpeg,
            admin_fee: 5_000_000_000,
            rules: Rules::standard(ProductRule::TimesN),
        };
        let reading = StableReading {
            pool,
            rates: decimals.iter().map(|decimals| e(36 - decimals)).collect(),
            rules: Rules::standard(ProductRule::Whole),
            fee_moves: true,
        };
        let answers = chain.answer(reading.calls());
        assert_eq!(reading.state(&answers), Ok(State { rules: reading.rules, ..state.clone() }));
        assert!(reading.state(&answers[1..]).is_err() && reading.state(&vec![None; answers.len()]).is_err());
        for step in 0..500 {
            let at = chain.at();
            if step % 25 == 0 {
                let total_supply = chain.word(pool, &totalSupplyCall {});
                let base = BasePool { state: state.clone(), total_supply };
                let (shares, coin) = (random.part(total_supply / u(10)), random.below(coins as u64) as u8);
                let call = remove_liquidity_one_coinCall { shares, coin: u128::from(coin), least: U256::ZERO };
                assert_eq!(base.withdraw_view(&at, coin, shares).ok(), chain.ask(pool, &call), "{state:?} {shares}");
                withdrawn += 1;
            }
            let i = random.below(coins as u64) as u8;
            let j = (i + 1 + random.below(coins as u64 - 1) as u8) % coins as u8;
            let dx = random.part(state.balances[usize::from(i)]);
            let call = NextGeneration::exchangeCall { i: u128::from(i), j: u128::from(j), dx, min_dy: U256::ZERO };
            let paid = chain.send(pool, &call);
            match state.swap(&at, i, j, dx) {
                Ok(swap) => {
                    assert_eq!(paid, Some(swap.amount_out), "{state:?} {i}→{j} {dx}");
                    state.balances = swap.balances.unwrap();
                }
                Err(SwapError::ZeroOutput) => {
                    assert_eq!(paid, Some(U256::ZERO), "{state:?} {i}→{j} {dx}");
                    for (coin, balance) in state.balances.iter_mut().enumerate() {
                        *balance = chain.word(pool, &balancesCall { coin: u(coin as u64) });
                    }
                }
                Err(_) => assert_eq!(paid, None, "{state:?} {i}→{j} {dx}"),
            }
            compared += 1;
        }
    }
    println!("StableSwap-NG (pre-release): {compared} swaps and {withdrawn} withdrawals, equal to the wei");
    assert_eq!(compared, 20_000);
}

/// Reads the state of a deployed two-coin pool, except whether its price scale is being adjusted, which the contract
/// does not show.
fn two_coins(chain: &mut Chain, pool: Address, fixed: &crypto::State, not_adjusted: Option<bool>) -> crypto::State {
    let mut state = fixed.clone();
    for coin in 0..2 {
        state.balances[coin] = chain.word(pool, &balancesCall { coin: u(coin as u64) });
    }
    let scale = chain.word(pool, &price_scaleCall {});
    state.price_scale = [scale, U256::ZERO];
    state.d = chain.word(pool, &DCall {});
    let (oracle, last) = (chain.word(pool, &price_oracleCall {}), chain.word(pool, &last_pricesCall {}));
    state.repricing = Some(Repricing {
        price_oracle: Some([oracle, U256::ZERO]),
        last_prices: [last, U256::ZERO],
        last_prices_timestamp: chain.word(pool, &last_prices_timestampCall {}).to(),
        averaging_seconds: 600,
        total_supply: chain.word(SHARES, &totalSupplyCall {}),
        xcp_profit: chain.word(pool, &xcp_profitCall {}),
        virtual_price: chain.word(pool, &virtual_priceCall {}),
        allowed_extra_profit: u(2_000_000_000_000),
        adjustment_step: u(146_000_000_000_000),
        not_adjusted,
    });
    state
}

/// Makes twenty thousand swaps with seconds to days between them. The amounts, the refusals and the complete states
/// afterwards must be equal.
#[test]
fn the_first_two_coin_cryptoswap_pays_and_reprices_as_its_bytecode_does() {
    let Some(bundle) = bundle() else { return };
    let (mut random, mut compared, mut followed, mut moved) = (Random(2), 0, 0, 0);
    for _ in 0..26 {
        let mut chain = Chain::new();
        for at in [SHARES, COINS[0], COINS[1]] {
            chain.put_coin(&bundle["Coin"], at);
        }
        for coin in COINS {
            chain.send(coin, &mintCall { to: OWNER, amount: e(40) }).unwrap();
        }
        let price = e(18) * u(random.between(1, 100_000)) / u(100);
        let (amp, gamma) =
            (random.between(4_000, 4_000_000), random.between(20_000_000_000_000, 10_000_000_000_000_000));
        let (mid, out) = (random.between(500_000, 30_000_000), random.between(30_000_000, 100_000_000));
        let fixed = crypto::State {
            kind: Kind::Cryptoswap(ClassicTwo::Early),
            balances: [U256::ZERO; 3],
            precisions: [U256::ONE, U256::ONE, U256::ZERO],
            price_scale: [price, U256::ZERO],
            d: U256::ZERO,
            amp_gamma: AmpGamma::constant(u(amp), u(gamma)),
            mid_fee: mid,
            out_fee: out,
            fee_gamma: u(500_000_000_000_000),
            repricing: None,
        };
        let numbers = [u(amp), u(gamma), u(mid), u(out), u(2_000_000_000_000), fixed.fee_gamma, u(146_000_000_000_000)];
        let last = [u(5_000_000_000), u(600), price];
        let arguments = [(OWNER, OWNER).abi_encode(), numbers.abi_encode(), last.abi_encode()].concat();
        let pool = chain.deploy(&bundle["CurveCryptoSwap2"], &arguments);
        let size = e(18) * u(random.between(10_000, 10_000_000));
        let amounts = [size, size * e(18) / price];
        chain.send(pool, &TwoCoins::add_liquidityCall { amounts, least: U256::ZERO }).unwrap();
        let reading = CryptoReading { pool, shares: SHARES, kind: fixed.kind, precisions: fixed.precisions };
        let answers = chain.answer(reading.calls());
        assert_eq!(reading.state(&answers), Ok(two_coins(&mut chain, pool, &fixed, None)));
        assert!(reading.state(&answers[1..]).is_err() && reading.state(&vec![None; answers.len()]).is_err());
        let mut not_adjusted = Some(false);
        for _ in 0..1_000 {
            let before = two_coins(&mut chain, pool, &fixed, not_adjusted);
            chain.wait([1, 12, 12, 60, 600, 3_600, 86_400][random.below(7) as usize]);
            let i = random.below(2) as u8;
            let dx = random.part(before.balances[usize::from(i)]);
            let call = TwoCoins::exchangeCall { i: u(u64::from(i)), j: u(1 - u64::from(i)), dx, min_dy: U256::ZERO };
            let balance = balanceOfCall { owner: OWNER };
            let out = COINS[usize::from(1 - i)];
            let held = chain.word(out, &balance);
            let done = chain.send(pool, &call).is_some();
            let paid = chain.word(out, &balance) - held;
            match before.swap(&chain.at(), i, 1 - i, dx) {
                Ok(swap) => {
                    assert!(done && paid == swap.amount_out, "{before:?} {i} {dx}: {paid} {done}");
                    not_adjusted = swap.after.as_ref().and_then(|after| after.repricing.not_adjusted);
                    if let Some(after) = swap.after {
                        let now = two_coins(&mut chain, pool, &fixed, not_adjusted);
                        assert_eq!(fixed.with(&after), now, "{before:?} {i} {dx}");
                        moved += u32::from(now.price_scale != before.price_scale);
                        followed += 1;
                    } else {
                        // The swap collected fees, which ends an adjustment.
                        not_adjusted = Some(false);
                    }
                }
                Err(SwapError::ZeroOutput) if done => assert_eq!(paid, U256::ZERO),
                Err(error) => assert!(!done, "{before:?} {i} {dx}: {error}"),
            }
            if !done {
                continue;
            }
            compared += 1;
        }
    }
    println!(
        "CryptoSwap: {compared} swaps equal to the wei, {followed} states after them, {moved} moves of the price scale"
    );
    assert!(compared >= 20_000 && followed > 10_000 && moved > 1_000);
}

/// Creates twenty thousand pools on the maths contract. Invariant, amount, fee, invariant afterwards, prices and share
/// value must be equal.
#[test]
fn tricrypto_ng_computes_what_its_maths_contract_computes() {
    let Some(bundle) = bundle() else { return };
    let mut chain = Chain::new();
    let maths = chain.deploy(&bundle["CurveCryptoMathOptimized3"], &[]);
    let (mut random, mut paid, mut refused) = (Random(3), 0, 0);
    for _ in 0..20_000 {
        let (flat, wide) = (random.below(14), random.below(20));
        let amp = u(random.between(2_700, 270_000_000 >> flat));
        let gamma = u(random.between(10_000_000_000, 50_000_000_000_000_000 >> wide));
        let size = e(18) * (U256::ONE << random.between(6, 40) as usize);
        let spread = [30, 80, 98][random.below(3) as usize];
        let mut part = || size * u(random.between(100 - spread, 100 + spread)) / u(100);
        let xp = [part(), part(), part()];
        let Some(d) = chain.ask(maths, &newton_DCall { amp, gamma, x: xp, k0: U256::ZERO }) else { continue };
        let pool = crypto::State {
            kind: Kind::TricryptoNg,
            balances: xp,
            precisions: [U256::ONE; 3],
            price_scale: [e(18); 2],
            d,
            amp_gamma: AmpGamma::constant(amp, gamma),
            mid_fee: 3_000_000,
            out_fee: 30_000_000,
            fee_gamma: u(500_000_000_000_000),
            repricing: None,
        };
        assert_eq!(pool.invariant(&chain.at()), Ok(d), "{pool:?}");
        let i = random.below(3) as usize;
        let j = (i + 1 + random.below(2) as usize) % 3;
        let dx = random.part(xp[i]);
        let whole = exchange(&mut chain, maths, &pool, i, j, dx);
        match (pool.amount_out(&chain.at(), i as u8, j as u8, dx), whole) {
            (Ok(amount), Some(whole)) => {
                assert_eq!(amount, whole.amount, "{pool:?} {i}→{j} {dx}");
                compare_after(&chain, &pool, i, j, dx, &whole);
                paid += 1;
            }
            (Err(SwapError::ZeroOutput), Some(whole)) => assert_eq!(whole.amount, U256::ZERO),
            (Err(_), None) => refused += 1,
            (ours, theirs) => panic!("{pool:?} {i}→{j} {dx}: {ours:?}, {}", theirs.is_some()),
        }
    }
    println!("Tricrypto-NG maths: {paid} swaps equal to the wei with what follows them, {refused} refused by both");
    assert!(paid > 12_000 && paid + refused > 15_000);
    for power in (0..3_000).map(|_| random.part(e(19) * u(4))) {
        let theirs = chain.word(maths, &wad_expCall { power: -I256::from_raw(power) });
        assert_eq!(averaged(&chain, power), theirs, "{power}");
    }
}

/// A swap composed from the maths contract's functions as in the pool's `exchange`.
struct Whole {
    amount: U256,
    d: U256,
    prices: [U256; 2],
    mean: U256,
}

fn exchange(chain: &mut Chain, maths: Address, pool: &crypto::State, i: usize, j: usize, dx: U256) -> Option<Whole> {
    let (amp, gamma) = pool.amp_gamma.future;
    let mut x = pool.balances;
    x[i] += dx;
    let [y, k0] = chain.ask(maths, &get_yCall { amp, gamma, x, d: pool.d, i: u(j as u64) })?;
    let amount = x[j].checked_sub(y)?.checked_sub(U256::ONE)?;
    let held = x[j];
    x[j] = y;
    let weight = chain.ask(maths, &reduction_coefficientCall { x, fee_gamma: pool.fee_gamma })?;
    let fee = (u(pool.mid_fee) * weight + u(pool.out_fee) * (e(18) - weight)) / e(18);
    let amount = amount - fee * amount / e(10);
    x[j] = held - amount;
    let d = chain.ask(maths, &newton_DCall { amp, gamma, x, k0 })?;
    let prices = chain.ask(maths, &get_pCall { x, d, shape: [amp, gamma] })?;
    let third = d / u(3);
    let mean = chain.ask(maths, &geometric_meanCall { x: [third, d * e(18) / (u(3) * e(18)), third] })?;
    Some(Whole { amount, d, prices, mean })
}

fn compare_after(chain: &Chain, pool: &crypto::State, i: usize, j: usize, dx: U256, whole: &Whole) {
    let at = chain.at();
    let mut watched = pool.clone();
    watched.repricing = Some(Repricing {
        price_oracle: Some([e(18); 2]),
        last_prices: [e(18); 2],
        last_prices_timestamp: at.timestamp,
        averaging_seconds: 866,
        total_supply: e(18),
        xcp_profit: e(30),
        virtual_price: U256::ONE,
        allowed_extra_profit: U256::ZERO,
        adjustment_step: e(18),
        not_adjusted: None,
    });
    // Neither a loss nor an adjustment is possible: the share price was almost zero before, and the averages equal the
    // price scale.
    if whole.mean > U256::ONE << 150 {
        return;
    }
    if let Some(repricing) = &mut watched.repricing {
        repricing.virtual_price = whole.mean - U256::ONE;
    }
    let after = watched.swap(&at, i as u8, j as u8, dx).unwrap().after.unwrap();
    assert_eq!((after.d, after.repricing.last_prices), (whole.d, whole.prices), "{pool:?} {i}→{j} {dx}");
    assert_eq!(after.repricing.virtual_price, whole.mean);
}

/// Returns the weight of the old average after some time. It is read from the average of the prices one and zero.
fn averaged(chain: &Chain, power: U256) -> U256 {
    let at = chain.at();
    let x = [e(24); 3];
    let mut pool = crypto::State {
        kind: Kind::TricryptoNg,
        balances: x,
        precisions: [U256::ONE; 3],
        price_scale: [e(18); 2],
        d: U256::ZERO,
        amp_gamma: AmpGamma::constant(u(1_707_629), u(11_809_167_828_997)),
        mid_fee: 3_000_000,
        out_fee: 30_000_000,
        fee_gamma: u(500_000_000_000_000),
        repricing: None,
    };
    pool.d = pool.invariant(&at).unwrap();
    // With a time constant of 10¹⁸ seconds, one second gives the smallest possible exponent.
    let since = at.timestamp;
    let later = ExecutionBlock { number: at.number, timestamp: since + power.saturating_to::<u64>() };
    pool.repricing = Some(Repricing {
        price_oracle: Some([e(18), U256::ZERO]),
        last_prices: [U256::ZERO, U256::ZERO],
        last_prices_timestamp: since,
        averaging_seconds: 1_000_000_000_000_000_000,
        total_supply: e(18),
        xcp_profit: e(30),
        virtual_price: U256::ONE,
        allowed_extra_profit: U256::ZERO,
        adjustment_step: e(18),
        not_adjusted: None,
    });
    let after = pool.swap(&later, 0, 1, e(20)).unwrap().after.unwrap();
    after.repricing.price_oracle.unwrap()[0]
}
