//! Coins known to be plain: balances change only by transfers, and a transfer delivers its amount. Pools that read
//! balances from their coins, and metapools that do not reveal the kind of their coin, are accepted only with these
//! coins.

use alloy_primitives::{Address, address};

/// Source: Curve's lists of coins for the addresses, and common knowledge of each token. A pool's views are checked
/// too. USDT could charge a transfer fee, but never has.
const PLAIN: [Address; 28] = [
    address!("6B175474E89094C44Da98b954EedeAC495271d0F"), // DAI
    address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"), // USDC
    address!("dAC17F958D2ee523a2206206994597C13D831ec7"), // USDT
    address!("853d955aCEf822Db058eb8505911ED77F175b99e"), // FRAX
    address!("57Ab1ec28D129707052df4dF418D58a2D46d5f51"), // sUSD
    address!("4Fabb145d64652a948d72533023f6E7A623C7C53"), // BUSD
    address!("0000000000085d4780B73119b644AE5ecd22b376"), // TUSD
    address!("8E870D67F660D95d5be530380D0eC0bd388289E1"), // USDP
    address!("056Fd409E1d7A124BD7017459dFEa2F387b6d5Cd"), // GUSD
    address!("5f98805A4E8be255a32880FDeC7F6728C6568bA0"), // LUSD
    address!("6c3ea9036406852006290770BEdFcAbA0e23A0e8"), // PYUSD
    address!("BC6DA0FE9aD5f3b0d58160288917AA56653660E9"), // alUSD
    address!("99D8a9C45b2ecA8864373A26D1459e3Dff1e17F3"), // MIM
    address!("f939E0A03FB07F59A73314E73794Be0E57ac1b4E"), // crvUSD
    address!("40D16FC0246aD3160Ccc09B8D0D3A2cD28aE6C2f"), // GHO
    address!("865377367054516e17014CcdED1e7d814EDC9ce4"), // DOLA
    address!("4591DBfF62656E7859Afe5e45f6F47D3669fBB28"), // mkUSD
    address!("4c9EDD5852cd905f086C759E8383e09bff1E68B3"), // USDe
    address!("dC035D45d973E3EC169d2276DDab16f1e407384F"), // USDS
    address!("73A15FeD60Bf67631dC6cd7Bc5B6e8da8190aCF5"), // USD0
    address!("0C10bF8FcB7Bf5412187A595ab97a3609160b5c6"), // USDD
    address!("2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599"), // WBTC
    address!("18084fbA666a33d37592fA2633fD49a74DD93a88"), // tBTC
    address!("cbB7C0000aB88B473b1f5aFd9ef808440eed33Bf"), // cbBTC
    address!("8236a87084f8B84306f72007F36F2618A5634494"), // LBTC
    address!("EB4C2781e4ebA804CE9a9803C67d0893436bB27D"), // renBTC
    address!("fE18be6b3Bd88A2D2A7f928d00292E7a9963CfC6"), // sBTC
    address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"), // WETH
];

/// Tells whether a coin is known to be plain.
pub(super) fn is_plain(coin: &Address) -> bool {
    PLAIN.contains(coin)
}
