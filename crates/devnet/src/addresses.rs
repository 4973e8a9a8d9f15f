//! Addresses of the contracts. They are those of Ethereum mainnet, except where a comment says that an address is our
//! own.

use alloy::primitives::{Address, B256, address, b256};

/// Wrapped ether.
pub const WETH9: Address = address!("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");
/// Permit2: signature transfers and allowances.
pub const PERMIT2: Address = address!("0x000000000022D473030F116dDEE9F6B43aC78BA3");
/// Multicall3: batched calls.
pub const MULTICALL3: Address = address!("0xcA11bde05977b3631167028862bE2a173976CA11");
/// The keyless CREATE2 deployer. Its calldata is a 32-byte salt followed by the creation code.
pub const CREATE2_DEPLOYER: Address = address!("0x4e59b44847b379578588920cA78FbF26c0B4956C");

/// Uniswap V2's factory.
pub const UNISWAP_V2_FACTORY: Address = address!("0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f");
/// Uniswap V2's router.
pub const UNISWAP_V2_ROUTER: Address = address!("0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D");
/// `keccak256` of the creation code of a Uniswap V2 pair.
pub const UNISWAP_V2_INIT_CODE_HASH: B256 = b256!("0x96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f");

/// SushiSwap V2's factory.
pub const SUSHI_V2_FACTORY: Address = address!("0xC0AEe478e3658e2610c5F7A4A2E1777cE9e4f2Ac");
/// SushiSwap V2's router.
pub const SUSHI_V2_ROUTER: Address = address!("0xd9e1cE17f2641f24aE83637ab66a2cca9C378B9F");

/// Uniswap V3's factory.
pub const UNISWAP_V3_FACTORY: Address = address!("0x1F98431c8aD98523631AE4a59f267346ea31F984");
/// Uniswap V3's position manager.
pub const UNISWAP_V3_POSITION_MANAGER: Address = address!("0xC36442b4a4522E871399CD717aBDD847Ab11FE88");
/// The contract that renders positions as pictures.
pub const UNISWAP_V3_POSITION_DESCRIPTOR: Address = address!("0x91ae842A5Ffd8d12023116943e72A606179294f3");
/// The library that the position descriptor is linked with.
pub const NFT_DESCRIPTOR: Address = address!("0x42B24A95702b9986e82d421cC3568932790A48Ec");
/// Uniswap V3's quoter.
pub const QUOTER_V2: Address = address!("0x61fFE014bA17989E743c5F6cB21bF9697530B21e");
/// Uniswap V3's first router.
pub const SWAP_ROUTER: Address = address!("0xE592427A0AEce92De3Edee1F18E0157C05861564");
/// Uniswap's router for V2 and V3.
pub const SWAP_ROUTER_02: Address = address!("0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45");
/// TickLens, which reads initialised ticks a word at a time.
pub const TICK_LENS: Address = address!("0xbfd8137f7d1516D3ea5cA83523914859ec47F573");
/// `keccak256` of the creation code of a Uniswap V3 pool (and of SushiSwap's).
pub const UNISWAP_V3_INIT_CODE_HASH: B256 = b256!("0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54");

/// SushiSwap V3's factory. Its code is that of Uniswap V3.
pub const SUSHI_V3_FACTORY: Address = address!("0xbACEB8eC6b9355Dfc0269C18bac9d6E2Bdc29C4F");
/// SushiSwap V3's position manager.
pub const SUSHI_V3_POSITION_MANAGER: Address = address!("0x2214A42d8e2A1d20635c2cb0664422c528B6A432");
/// SushiSwap V3's router.
pub const SUSHI_V3_ROUTER: Address = address!("0x2E6cd2d30aa43f40aa81619ff4b6E0a41479B13F");
/// SushiSwap V3's quoter.
pub const SUSHI_V3_QUOTER: Address = address!("0x64e8802FE490fa7cc61d3463958199161Bb608A7");

/// PancakeSwap V3's factory.
pub const PANCAKE_V3_FACTORY: Address = address!("0x0BFbCF9fa4f9C56B0F40a671Ad40E0805A091865");
/// The contract that deploys PancakeSwap V3's pools for the factory.
pub const PANCAKE_V3_POOL_DEPLOYER: Address = address!("0x41ff9AA7e16B8B1a8a8dc4f0eFacd93D02d071c9");
/// PancakeSwap V3's position manager.
pub const PANCAKE_V3_POSITION_MANAGER: Address = address!("0x46A15B0b27311cedF172AB29E4f4766fbE7F4364");
/// PancakeSwap V3's router.
pub const PANCAKE_V3_ROUTER: Address = address!("0x1b81D678ffb9C0263b24A97847620C99d213eB14");
/// `keccak256` of the creation code of a PancakeSwap V3 pool.
pub const PANCAKE_V3_INIT_CODE_HASH: B256 = b256!("0x6ce8eb472fa82df5469c6ab6d485f17c3ad13c8cd7af59b3d4a8026c5ce0f7e2");

/// `keccak256` of the code that mainnet holds at [`WETH9`].
pub const WETH9_CODE_HASH: B256 = b256!("0xd0a06b12ac47863b5c7be4185c2deaad1c61557033f56c7d4ea74429cbb25e23");

/// Lido's staked ether (stETH), which stores balances in shares.
pub const STETH: Address = address!("0xae7ab96520DE3A18E5e111B5EaAb095312D7fE84");
/// Lido's wrapper of stETH shares (wstETH).
pub const WSTETH: Address = address!("0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0");
/// MakerDAO's pot, which stores the savings rate.
pub const MAKER_POT: Address = address!("0x197E90f9FAD81970bA7976f33CbD77088E5D7cf7");
/// Savings Dai.
pub const SDAI: Address = address!("0x83F20F44975D03b1b09e64809B757c47f942BEeA");
/// Ethena's staked USDe, whose holders wait a week to withdraw.
pub const SUSDE: Address = address!("0x9D39A5DE30e57443BfF2A8307A4256c8797A3497");
/// Puffer's vault of ether; on this chain, OpenZeppelin's unmodified ERC-4626 vault.
pub const PUFETH: Address = address!("0xD9A442856C234a39a81a089C06451EBAa4306a72");
/// Morpho Blue.
pub const MORPHO_BLUE: Address = address!("0xBBBBBbbBBb9cC5e90e3b3Af64bdAF62C37EEFFCb");
/// Morpho's adaptive interest rate model.
pub const ADAPTIVE_CURVE_IRM: Address = address!("0x870aC11D48B15DB9a138Cf899d20F13F79Ba00BC");
/// The factory of MetaMorpho 1.1.
pub const METAMORPHO_FACTORY: Address = address!("0x1897A8997241C1cD4bD0698647e4EB7213535c24");
/// Gauntlet's MetaMorpho vault of USDC.
pub const GAUNTLET_USDC_PRIME: Address = address!("0x8c106EEDAd96553e64287A5A6839c3Cc78afA3D0");

/// Balancer V2's vault.
pub const BALANCER_V2_VAULT: Address = address!("0xBA12222222228d8Ba445958a75a0704d566BF2C8");
/// The authorizer of Balancer V2's vault, which decides who may change its settings.
pub const BALANCER_V2_AUTHORIZER: Address = address!("0xA331D84eC860Bf466b4CdCcFb4aC09a1B43F3aE6");
/// The contract that sets the protocol's share of fees.
pub const BALANCER_V2_FEE_PROVIDER: Address = address!("0x97207B095e4D5C9a6e4cfbfcd2C3358E03B90c4A");
/// The library that meta-stable pools use.
pub const BALANCER_V2_QUERY_PROCESSOR: Address = address!("0x469b58680774AAc9Ad66447eFB4EF634756A2cC5");
/// The factory of the first version of weighted pools.
pub const BALANCER_V2_WEIGHTED_V1: Address = address!("0x8E9aa87E45e92bad84D5F8DD1bff34Fb92637dE9");
/// The factory of the third version of weighted pools.
pub const BALANCER_V2_WEIGHTED_V3: Address = address!("0x5Dd94Da3644DDD055fcf6B3E1aa310Bb7801EB8b");
/// The factory of the second version of stable pools.
pub const BALANCER_V2_STABLE_V2: Address = address!("0x8df6EfEc5547e31B0eb7d1291B511FF8a2bf987c");
/// The factory of meta-stable pools.
pub const BALANCER_V2_META_STABLE: Address = address!("0x67d27634E44793fE63c467035E31ea8635117cd4");
/// The factory of the third version of composable stable pools.
pub const BALANCER_V2_COMPOSABLE_V3: Address = address!("0xdba127fBc23fb20F5929C546af220A991b5C6e01");
/// The rate provider of wstETH for Balancer's pools: the value of one wstETH in ether.
pub const WSTETH_RATE_PROVIDER: Address = address!("0x72D07D7DcA67b8A406aD1Ec34ce969c90bFEE768");

/// Balancer V3's vault.
pub const BALANCER_V3_VAULT: Address = address!("0xbA1333333333a1BA1108E8412f11850A5C319bA9");
/// The part of the vault that implements its view functions.
pub const BALANCER_V3_VAULT_EXTENSION: Address = address!("0x0E8B07657D719B86e06bF0806D6729e3D528C9A9");
/// The part of the vault that implements its administration.
pub const BALANCER_V3_VAULT_ADMIN: Address = address!("0x35fFB749B273bEb20F40f35EdeB805012C539864");
/// The recipient of the protocol's fees. The address is our own, since mainnet's has changed.
pub const BALANCER_V3_FEE_CONTROLLER: Address = address!("0x000000000000000000000000000000000000FEE3");
/// The factory of the second version of weighted pools.
pub const BALANCER_V3_WEIGHTED: Address = address!("0x332694ef46D880DF6eA9593E04CB8abeE5f81d99");
/// The factory of the third version of stable pools.
pub const BALANCER_V3_STABLE: Address = address!("0x4eFCd8BcE8ac9B94bD76648e2c85beF6C40f3228");
/// Our own contract that fills pools of Uniswap V3 and of its forks.
pub const UNISWAP_V3_FILLER: Address = address!("0x000000000000000000000000000000000000F112");
/// Our own contract that fills pools of Balancer V3.
pub const BALANCER_V3_FILLER: Address = address!("0x000000000000000000000000000000000000F111");

/// Curve's 3pool of DAI, USDC and USDT.
pub const CURVE_3POOL: Address = address!("0xbEbc44782C7dB0a1A60Cb6fe97d0b483032FF1C7");
/// The share token of [`CURVE_3POOL`].
pub const CURVE_3CRV: Address = address!("0x6c3F90f043a72FA612cbac8115EE7e52BDe6E490");
/// Curve's pool of ether and stETH.
pub const CURVE_STETH: Address = address!("0xDC24316b9AE028F1497c275EB9192a3Ea0f67022");
/// The share token of [`CURVE_STETH`].
pub const CURVE_STETH_SHARE: Address = address!("0x06325440D014e39736583c165C2963BA99fAf14E");
/// Curve's plain pool of USDC and USDT.
pub const CURVE_2POOL: Address = address!("0x1005F7406f32a61BD760CfA14aCCd2737913d546");
/// Curve's metapool of GUSD on [`CURVE_3POOL`].
pub const CURVE_GUSD: Address = address!("0x4f062658EaAF2C1ccf8C8e36D6824CDf41167956");
/// The share token of [`CURVE_GUSD`].
pub const CURVE_GUSD_SHARE: Address = address!("0xD2967f45c4f384DEEa880F807Be904762a3DeA07");
/// Curve's StableSwap-NG pool of USDC and USDT.
pub const CURVE_NG_DOLLARS: Address = address!("0x4f493B7dE8aAC7d55F71853688b1F7C8F0243C85");
/// Curve's StableSwap-NG pool of sDAI and sUSDe.
pub const CURVE_NG_SAVINGS: Address = address!("0x167478921b907422F8E88B43C4Af2B8BEa278d3A");
/// Curve's StableSwap-NG pool of pufETH and wstETH.
pub const CURVE_NG_STAKED: Address = address!("0xEEda34A377dD0ca676b9511EE1324974fA8d980D");
/// Curve's CryptoSwap pool of ether and CRV.
pub const CURVE_CRVETH: Address = address!("0x8301AE4fc9c624d1D396cbDAa1ed877821D7C511");
/// The share token of [`CURVE_CRVETH`].
pub const CURVE_CRVETH_SHARE: Address = address!("0xEd4064f376cB8d68F770FB1Ff088a3d0F3FF5c4d");
/// Curve's CryptoSwap pool of ether and rETH.
pub const CURVE_RETH: Address = address!("0x0f3159811670c117c372428D4E69AC32325e4D0F");
/// The share token of [`CURVE_RETH`].
pub const CURVE_RETH_SHARE: Address = address!("0x6c38cE8984a890F5e46e6dF6117C26b3F1EcfC9C");
/// Curve's tricrypto2 pool.
pub const CURVE_TRICRYPTO2: Address = address!("0xD51a44d3FaE010294C616388b506AcdA1bfAAE46");
/// The share token of [`CURVE_TRICRYPTO2`].
pub const CURVE_TRICRYPTO2_SHARE: Address = address!("0xc4AD29ba4B3c580e6D59105FFf484999997675Ff");
/// Curve's Tricrypto-NG pool of USDC, WBTC and ether.
pub const CURVE_TRICRYPTO_USDC: Address = address!("0x7F86Bf177Dd4F3494b841a37e810A34dD56c829B");
/// Curve's Twocrypto-NG pool of ether and INV.
pub const CURVE_WETH_INV: Address = address!("0xdcd90d866ff9636e5a04768825d05d27b3fb19ec");
/// Curve's pool of Aave's tokens of DAI, USDC and USDT.
pub const CURVE_AAVE: Address = address!("0xDeBF20617708857ebe4F679508E7b7863a8A8EeE");
/// The share token of [`CURVE_AAVE`].
pub const CURVE_AAVE_SHARE: Address = address!("0xFd2a8fA60Abd58Efe3EeE34dd494cD491dC14900");
/// Curve's pool of Aave's tokens of DAI and sUSD.
pub const CURVE_SAAVE: Address = address!("0xEB16Ae0052ed37f479f7fe63849198Df1765a733");
/// The share token of [`CURVE_SAAVE`].
pub const CURVE_SAAVE_SHARE: Address = address!("0x02d341CcB60fAaf662bC0554d13778015d1b285C");
/// Curve's pool of renBTC and WBTC.
pub const CURVE_REN: Address = address!("0x93054188d876f558f4a66B2EF1d97d16eDf0895B");
/// The share token of [`CURVE_REN`].
pub const CURVE_REN_SHARE: Address = address!("0x49849C98ae39Fff122806C06791Fa73784FB3675");
/// Curve's pool of renBTC, WBTC and sBTC.
pub const CURVE_SBTC: Address = address!("0x7fC77b5c7614E1533320Ea6DDc2Eb61fa00A9714");
/// The share token of [`CURVE_SBTC`].
pub const CURVE_SBTC_SHARE: Address = address!("0x075b1bb99792c9E1041bA13afEf80C91a1e70fB3");
/// Curve's metapool of tBTC on [`CURVE_SBTC`].
pub const CURVE_TBTC: Address = address!("0xC25099792E9349C7DD09759744ea681C7de2cb66");
/// The share token of [`CURVE_TBTC`].
pub const CURVE_TBTC_SHARE: Address = address!("0x64eda51d3Ad40D56b9dFc5554E06F94e1Dd786Fd");
/// Curve's pool of Compound's tokens of DAI and USDC.
pub const CURVE_COMPOUND: Address = address!("0xA2B47E3D5c44877cca798226B7B8118F9BFb7A56");
/// The share token of [`CURVE_COMPOUND`].
pub const CURVE_COMPOUND_SHARE: Address = address!("0x845838DF265Dcd2c412A1Dc9e959c7d08537f8a2");
/// Curve's pool of Compound's tokens of DAI and USDC, and of plain USDT.
pub const CURVE_COMPOUND_USDT: Address = address!("0x52EA46506B9CC5Ef470C5bf89f17Dc28bB35D85C");
/// The share token of [`CURVE_COMPOUND_USDT`].
pub const CURVE_COMPOUND_USDT_SHARE: Address = address!("0x9fC689CCaDa600B6DF723D9E47D84d76664a1F23");
/// Aave V2's lending pool.
pub const AAVE: Address = address!("0x7d2768dE32b0b80b7a3454c06BdAc94A69DDc7A9");
/// Aave V2's token of DAI.
pub const A_DAI: Address = address!("0x028171bCA77440897B824Ca71D1c56caC55b68A3");
/// Aave V2's token of USDC.
pub const A_USDC: Address = address!("0xBcca60bB61934080951369a648Fb03DF4F96263C");
/// Aave V2's token of USDT.
pub const A_USDT: Address = address!("0x3Ed3B47Dd13EC9a98b44e6204A523E766B225811");
/// Aave V2's token of sUSD.
pub const A_SUSD: Address = address!("0x6C5024Cd4F8A59110119C56f8933403A539555EB");
/// Compound V2's comptroller.
pub const COMPOUND: Address = address!("0x3d9819210A31b4961b30EF54bE2aeD79B9c9Cd3B");
/// Compound's market of DAI.
pub const C_DAI: Address = address!("0x5d3a536E4D6DbD6114cc1Ead35777bAB948E3643");
/// Compound's market of USDC.
pub const C_USDC: Address = address!("0x39AA39c021dfbaE8faC545936693aC917d5E7563");
/// Curve's factory of Tricrypto pools.
pub const CURVE_TRICRYPTO_FACTORY: Address = address!("0x0c0e5f2fF0ff18a3be9b835635039256dC4B4963");
/// Curve's factory of Twocrypto pools.
pub const CURVE_TWOCRYPTO_FACTORY: Address = address!("0x98EE851a00abeE0d95D08cF4CA2BdCE32aeaAF7F");
/// Curve's factory of plain pools and metapools.
pub const CURVE_STABLE_FACTORY: Address = address!("0xB9fC157394Af804a3578134A6585C0dc9cc990d4");
/// Curve's factory of StableSwap-NG pools.
pub const CURVE_NEXT_FACTORY: Address = address!("0x6A8cbed756804B16E05E741eDaBd5cB544AE21bf");
/// Curve's factory of CryptoSwap pools of two coins.
pub const CURVE_CRYPTO_FACTORY: Address = address!("0xF18056Bbd320E96A48e3Fbf8bC061322531aac99");
/// The implementation that the first factory's plain pools of two coins delegate to. This chain has no code at the
/// address; our stand-ins are announced with it as their implementation.
pub const CURVE_PLAIN_IMPLEMENTATION: Address = address!("0x6523Ac15EC152Cb70a334230F6c5d62C5Bd963f1");
/// The implementation of metapools on the 3pool; see [`CURVE_PLAIN_IMPLEMENTATION`].
pub const CURVE_META_IMPLEMENTATION: Address = address!("0x213be373FDff327658139C7df330817DAD2d5bBE");
/// The implementation of metapools on renBTC and WBTC; see [`CURVE_PLAIN_IMPLEMENTATION`].
pub const CURVE_META_ON_REN_IMPLEMENTATION: Address = address!("0xECAaecd9d2193900b424774133B1f51ae0F29d9E");
/// Our own pool of PYUSD and FRAX, in the list of Curve's first factory.
pub const CURVE_LISTED_PLAIN: Address = address!("0x00000000000000000000000000000000c07e0001");
/// Our own metapool of LUSD on [`CURVE_3POOL`], in the same list.
pub const CURVE_LISTED_META: Address = address!("0x00000000000000000000000000000000c07e0002");
/// Our own pool of PYUSD and USDe, in the list of the StableSwap-NG factory.
pub const CURVE_LISTED_NEXT: Address = address!("0x00000000000000000000000000000000c07e0003");
/// Our own pool of ether and COMP, in the list of the CryptoSwap factory.
pub const CURVE_LISTED_CRYPTO: Address = address!("0x00000000000000000000000000000000c07e0004");
/// The share token of [`CURVE_LISTED_CRYPTO`].
pub const CURVE_LISTED_CRYPTO_SHARE: Address = address!("0x00000000000000000000000000000000c07e0005");
/// Our own metapool of FRAX on [`CURVE_NG_DOLLARS`], in the list of the StableSwap-NG factory.
pub const CURVE_LISTED_NEXT_META: Address = address!("0x00000000000000000000000000000000c07e0006");
/// Our own metapool of USDe on [`CURVE_3POOL`], in the list of the StableSwap-NG factory.
pub const CURVE_LISTED_NEXT_META_ON_3POOL: Address = address!("0x00000000000000000000000000000000c07e0007");
/// Our own pool of FRAX and LUSD, in the list of the first factory. It reads its balances from its coins.
pub const CURVE_LISTED_HELD: Address = address!("0x00000000000000000000000000000000c07e0008");
/// The implementation of pools like [`CURVE_LISTED_HELD`].
pub const CURVE_HELD_IMPLEMENTATION: Address = address!("0x24D937143d3F5cF04c72bA112735151A8CAE2262");
/// Our own metapool of cbBTC on [`CURVE_REN`], in the list of the first factory.
pub const CURVE_LISTED_META_ON_REN: Address = address!("0x00000000000000000000000000000000c07e0009");
/// Fluid's liquidity layer.
pub const FLUID_LIQUIDITY: Address = address!("0x52Aa899454998Be5b000Ad077a46Bbe360F4e497");
/// Fluid's factory of pools.
pub const FLUID_DEX_FACTORY: Address = address!("0x91716C4EDA1Fb55e84Bf8b4c7085f84285c19085");
/// Fluid's factory of fTokens.
pub const FLUID_LENDING_FACTORY: Address = address!("0x54B91A0D94cb471F37f949c60F7Fa7935b551D03");
/// Fluid's pool of USDC and ether, with collateral and debt.
pub const FLUID_DEX_USDC_ETH: Address = address!("0x836951EB21F3Df98273517B7249dCEFF270d34bf");
/// Fluid's pool of wstETH and ether, with collateral only. Another contract supplies its centre price.
pub const FLUID_DEX_WSTETH_ETH: Address = address!("0x0B1a513ee24972DAEf112bC777a5610d4325C9e7");
/// Fluid's pool of USDC and USDT; on this chain, with debt only.
pub const FLUID_DEX_USDC_USDT: Address = address!("0x667701e51B4D1Ca244F17C78F7aB8744B4C99F9B");
/// Fluid's fToken of USDC.
pub const FLUID_FUSDC: Address = address!("0x9Fb7b4477576Fe5B32be4C1843aFB1e55F251B33");
/// Fluid's fToken of USDT.
pub const FLUID_FUSDT: Address = address!("0x5C20B550819128074FD538Edf79791733ccEdd18");
/// Fluid's fToken of wrapped ether.
pub const FLUID_FWETH: Address = address!("0x90551c1795392094FE6D29B758EcCD233cFAa260");
/// Morpho's factory of Vault V2.
pub const VAULT_V2_FACTORY: Address = address!("0xA1D94F746dEfa1928926b84fB2596c06926C0405");
/// A Vault V2 of USDC at an address of our own: the last 20 bytes of the Keccak hash of `a Vault V2 of USDC`.
pub const VAULT_V2_USDC: Address = address!("0xa0c4d4be1e276744de804b520680380d14a10a13");
/// Aave V3's addresses provider.
pub const AAVE_V3_PROVIDER: Address = address!("0x2f39d218133AFaB8F2B819B1066c7E434Ad94E9e");
/// Aave V3's pool, a proxy.
pub const AAVE_V3_POOL: Address = address!("0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2");
/// The implementation of [`AAVE_V3_POOL`].
pub const AAVE_V3_POOL_CODE: Address = address!("0x728a138A4823392C2EFA55e028d434F526fE03CF");
/// Aave V3's interest rate strategy.
pub const AAVE_V3_RATES: Address = address!("0x9ec6F08190DeA04A54f8Afc53Db96134e5E3FdFB");
/// Aave V3's price oracle; on this chain, a contract with preset prices.
pub const AAVE_V3_ORACLE: Address = address!("0x54586bE62E3c3580375aE3723C145253060Ca0C2");
/// Aave V3's ACL manager, which grants the roles.
pub const AAVE_V3_ACL_MANAGER: Address = address!("0xc2aaCf6553D20d1e9d78E365AAba8032af9c85b0");
/// Aave V3's rewards controller for suppliers, a proxy.
pub const AAVE_V3_REWARDS: Address = address!("0x8164Cc65827dcFe994AB23944CBC90e0aa80bFcb");
/// The implementation of [`AAVE_V3_REWARDS`], at an address of our own.
pub const AAVE_V3_REWARDS_CODE: Address = address!("0x00000000000000000000000000000000aa3e0101");
/// Aave V3's treasury, which receives its part of the interest.
pub const AAVE_V3_TREASURY: Address = address!("0x464C71f6c2F760DdA6093dCB91C24c39e5d6e18c");
/// The implementation of supply tokens (aTokens).
pub const AAVE_V3_A_TOKEN_CODE: Address = address!("0xadC45Df3cf1584624C97338BEF33363BF5b97AdA");
/// The implementation of debt tokens.
pub const AAVE_V3_DEBT_TOKEN_CODE: Address = address!("0xb27C52c7f84819e3157993489741cB60786aE330");
/// Our own contract, at the address of the pool configurator.
pub const AAVE_V3_KEEPER: Address = address!("0x64b761D848206f447Fe2dd461b0c635Ec39EbB27");
/// Aave V3's supply token of USDC.
pub const AAVE_V3_A_USDC: Address = address!("0x98C23E9d8f34FEFb1B7BD6a91B7FF122F4e16F5c");
/// Aave V3's debt token of USDC.
pub const AAVE_V3_DEBT_USDC: Address = address!("0x72E95b8931767C79bA4EeE721354d6E99a61D004");
/// Aave V3's supply token of USDT.
pub const AAVE_V3_A_USDT: Address = address!("0x23878914EFE38d27C4D67Ab83ed1b93A74D4086a");
/// Aave V3's debt token of USDT.
pub const AAVE_V3_DEBT_USDT: Address = address!("0x6df1C1E379bC5a00a7b4C6e67A203333772f45A8");
/// Aave V3's supply token of wrapped ether.
pub const AAVE_V3_A_WETH: Address = address!("0x4d5F47FA6A74757f35C14fD3a6Ef8E3C9BC514E8");
/// Aave V3's debt token of wrapped ether.
pub const AAVE_V3_DEBT_WETH: Address = address!("0xeA51d7853EEFb32b6ee06b1C12E6dcCA88Be0fFE");
/// Aave's wrapped supply token of USDC (waEthUSDC).
pub const WA_USDC: Address = address!("0xD4fa2D31b7968E448877f69A96DE69f5de8cD23E");
/// Aave's wrapped supply token of USDT (waEthUSDT).
pub const WA_USDT: Address = address!("0x7Bc3485026Ac48b6cf9BaF0A377477Fff5703Af8");
/// Aave's wrapped supply token of wrapped ether (waEthWETH).
pub const WA_WETH: Address = address!("0x0bfc9d54Fc184518A81162F8fB99c2eACa081202");
/// The implementation of wrapped supply tokens, at an address of our own.
pub const WRAPPED_TOKEN_CODE: Address = address!("0x00000000000000000000000000000000aa3e0102");
/// The factory of wrapped supply tokens.
pub const STATA_TOKEN_FACTORY: Address = address!("0xCb0b5cA20b6C5C02A9A3B2cE433650768eD2974F");
/// Balancer's rate provider of [`WA_USDC`]; on this chain, a stand-in.
pub const WA_USDC_RATE_PROVIDER: Address = address!("0x8f4E8439b970363648421C692dd897Fb9c0Bd1D9");
/// Balancer's rate provider of [`WA_USDT`]; on this chain, a stand-in.
pub const WA_USDT_RATE_PROVIDER: Address = address!("0xEdf63cce4bA70cbE74064b7687882E71ebB0e988");
/// Balancer's rate provider of [`GAUNTLET_USDC_PRIME`]; a stand-in at an address of our own.
pub const GAUNTLET_RATE_PROVIDER: Address = address!("0x000000000000000000000000000000000000F113");
/// Balancer's rate provider of [`VAULT_V2_USDC`]; a stand-in at an address of our own.
pub const VAULT_V2_RATE_PROVIDER: Address = address!("0x000000000000000000000000000000000000F114");
