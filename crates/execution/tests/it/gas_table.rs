//! A table that compares modelled gas with the receipts.

use std::collections::BTreeMap;

use braid_execution::{Destination, GasEstimate, PartnerFee, Program};
use braid_protocols::{PoolState, Product};
use braid_routing::Route;

use crate::chain::Chain;

/// The tolerance of the modelled gas, relative to the receipt.
const TOLERANCE: f64 = 0.07;

/// An executed route.
pub struct Measured {
    pub shape: String,
    pub steps: usize,
    pub products: Vec<Product>,
    pub modelled: u64,
    pub used: u64,
    pub limit: u64,
}

impl Measured {
    #[allow(clippy::too_many_arguments, reason = "a record of a test")]
    pub fn new(
        chain: &Chain,
        route: &Route,
        program: &Program,
        estimate: &GasEstimate,
        used: u64,
        permit2: bool,
        fee: Option<PartnerFee>,
    ) -> Self {
        let letter = |place: &braid_execution::ProgramStep| {
            let step = &route.steps[place.route_step];
            let kind = match chain.market.pool(step.pool).unwrap().state {
                PoolState::WrappedEther(braid_protocols::wrapped_ether::State) if step.coin_in == 0 => "wrap",
                PoolState::WrappedEther(braid_protocols::wrapped_ether::State) => "unwrap",
                PoolState::UniswapV2(_) => "v2",
                PoolState::UniswapV3(_) => "v3",
                _ => chain.market.pool(step.pool).unwrap().product.id(),
            };
            let to = match place.destination {
                Destination::Proxy => "",
                Destination::Recipient => "!",
                Destination::NextPool => ">",
            };
            format!("{kind}{to}")
        };
        let mut shape: Vec<String> = program.steps.iter().map(letter).collect();
        if let Some(fee) = fee {
            shape.insert(0, if fee.on_output { "fee-out".into() } else { "fee-in".into() });
        }
        if permit2 {
            shape.insert(0, "permit2".into());
        }
        Self {
            shape: shape.join(" "),
            steps: route.steps.len(),
            products: route.steps.iter().map(|step| chain.market.pool(step.pool).unwrap().product).collect(),
            modelled: estimate.total_gas_units,
            used,
            limit: estimate.gas_limit,
        }
    }

    fn error(&self) -> f64 {
        self.modelled as f64 / self.used as f64 - 1.0
    }
}

/// All executed routes.
#[derive(Default)]
pub struct Table(Vec<Measured>);

impl Table {
    pub fn add(&mut self, measured: Measured) {
        self.0.push(measured);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the number of routes through a product.
    pub fn routes_through(&self, product: Product) -> usize {
        self.0.iter().filter(|measured| measured.products.contains(&product)).count()
    }

    /// Prints the errors by number of steps, and then the routes with the largest errors.
    pub fn print(&self) {
        let mut by_steps: BTreeMap<usize, Vec<&Measured>> = BTreeMap::new();
        for measured in &self.0 {
            by_steps.entry(measured.steps).or_default().push(measured);
        }
        println!("steps  routes  mean error  worst error  mean gas");
        for (steps, group) in by_steps {
            let count = group.len() as f64;
            let mean = group.iter().map(|m| m.error()).sum::<f64>() / count;
            let worst = group.iter().map(|m| m.error()).max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap();
            let gas = group.iter().map(|m| m.used as f64).sum::<f64>() / count;
            println!("{steps:>5}  {:>6}  {:>9.2}%  {:>10.2}%  {gas:>8.0}", group.len(), mean * 100.0, worst * 100.0);
        }
        let mut sorted: Vec<&Measured> = self.0.iter().collect();
        sorted.sort_by(|a, b| b.error().abs().total_cmp(&a.error().abs()));
        for m in sorted.iter().take(15) {
            println!("{:>7.2}%  {} modelled, {} used: {}", m.error() * 100.0, m.modelled, m.used, m.shape);
        }
        self.print_products();
        println!("within {:.0}%: {:.1}% of {} routes", TOLERANCE * 100.0, self.share_within() * 100.0, self.0.len());
    }

    /// Prints for each product how many of its routes exceed the tolerance downwards and upwards, and the mean error of
    /// all.
    fn print_products(&self) {
        for product in Product::ALL {
            let through: Vec<f64> =
                self.0.iter().filter(|m| m.products.contains(product)).map(Measured::error).collect();
            let [low, high] = [-1.0, 1.0].map(|side| through.iter().filter(|error| *error * side > TOLERANCE).count());
            let mean = through.iter().sum::<f64>() / through.len().max(1) as f64;
            println!(
                "{:<30} {low:>3} too low, {high:>3} too high of {:>4}, {:>5.1}% in the mean",
                product.id(),
                through.len(),
                mean * 100.0
            );
        }
    }

    /// Checks that at least this share of the routes is within 7% of the receipt, and that every gas limit leaves room.
    pub fn check(&self, share_within: f64) {
        assert!(self.share_within() >= share_within, "only {:.3} within the tolerance", self.share_within());
        for m in &self.0 {
            assert!(m.limit > m.used + m.used / 10 && m.limit <= braid_execution::gas::MAX_GAS_LIMIT, "{}", m.shape);
        }
        assert!(self.0.iter().filter(|m| m.steps > 1).count() > self.0.len() / 2, "too few routes of several steps");
    }

    fn share_within(&self) -> f64 {
        let within = self.0.iter().filter(|m| m.error().abs() <= TOLERANCE).count();
        within as f64 / self.0.len() as f64
    }
}
