//! Factories whose pools' code is known, and modelled hooks.
//!
//! Anyone may register a pool with the vault. Source of the addresses: Balancer's deployment list.

use alloy_primitives::{Address, address};

use super::Generation;
use crate::Product;

/// Every factory, with the product and code release of its pools.
pub(super) const FACTORIES: [(Address, Product, Generation); 8] = [
    (address!("201efd508c8DfE9DE1a13c2452863A78CB2a86Cc"), Product::BalancerV3Weighted, Generation::First),
    (address!("332694ef46D880DF6eA9593E04CB8abeE5f81d99"), Product::BalancerV3Weighted, Generation::Guarded),
    (address!("B9d01CA61b9C181dA1051bFDd28e1097e920AB14"), Product::BalancerV3Stable, Generation::First),
    (address!("e42c2E153Bb0A8899b59C73F5Ff941f9742F1197"), Product::BalancerV3Stable, Generation::First),
    (address!("4eFCd8BcE8ac9B94bD76648e2c85beF6C40f3228"), Product::BalancerV3Stable, Generation::Guarded),
    (address!("D53F5d8d926fb2a0f7Be614B16e649B8aC102D83"), Product::BalancerV3Stable, Generation::First),
    (address!("355bD33F0033066BB3DE396a6d069be57353AD95"), Product::BalancerV3Stable, Generation::First),
    (address!("187a05FB9e4234dd310Ae74215743560D1BaA6ac"), Product::BalancerV3Stable, Generation::Guarded),
];

/// Modelled hooks: StableSurge of January and of April 2025.
pub(super) const STABLE_SURGE_HOOKS: [Address; 2] =
    [address!("b18fA0cb5DE8cecB8899AAE6e38b1B7ed77885dA"), address!("BDbADc891BB95DEE80eBC491699228EF0f7D6fF1")];
