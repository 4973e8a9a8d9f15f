//! Tests with routes of any shape: decoding must give the same route, and the encoded program must follow the proxy's
//! rules.

mod decoder;
mod routes;

use braid_primitives::{Address, NATIVE_ETHER, TokenId, U256, WETH};
use proptest::prelude::*;

use self::decoder::{Decoded, decode};
use self::routes::{Case, Shape, case};
use super::*;
use crate::PartnerFee;

/// Runs a decoded program as `docs/internals/program.md`, section 3, specifies, with the route's amounts out. Returns
/// what every step spent, and the recipient's amount of each output.
fn run(case: &Case, program: &Program, decoded: &Decoded) -> (Vec<U256>, Vec<U256>) {
    let mut at_hand = vec![U256::ZERO; decoded.tokens.len()];
    for (index, input) in case.order.inputs.iter().enumerate() {
        at_hand[index] = case.order.input_after_fee(input);
    }
    let outputs = case.order.inputs.len()..case.order.inputs.len() + case.order.outputs.len();
    let mut paid = vec![U256::ZERO; case.order.outputs.len()];
    let mut spent = vec![U256::ZERO; case.route.steps.len()];
    let mut prepaid: Option<(usize, U256)> = None;
    for (at, step) in decoded.steps.iter().enumerate() {
        let route_step = program.steps[at].route_step;
        let amount_in = match prepaid.take() {
            Some((token, amount)) => {
                assert_eq!((token, step.share, step.opcode), (step.token_in, 0, 0x10), "only V2 is paid in advance");
                amount
            }
            None if step.share == 0 => std::mem::take(&mut at_hand[step.token_in]),
            None => {
                let amount = (at_hand[step.token_in] * U256::from(step.share)) >> 32;
                at_hand[step.token_in] -= amount;
                amount
            }
        };
        spent[route_step] = amount_in;
        if let Some(wrap) = program.steps[at].wraps {
            assert_eq!(decoded.tokens[step.token_in], NATIVE_ETHER, "only ether is wrapped on the way");
            assert!(step.opcode == 0x10 || step.opcode == 0x11);
            spent[wrap] = amount_in;
        }
        let amount_out = case.route.steps[route_step].amount_out;
        match step.to {
            0 => at_hand[step.token_out] += amount_out,
            1 => {
                assert!(outputs.contains(&step.token_out) && !case.order.has_output_fee());
                paid[step.token_out - outputs.start] += amount_out;
            }
            2 => prepaid = Some((step.token_out, amount_out)),
            other => panic!("destination {other}"),
        }
        assert!(step.to == 0 || step.opcode >= 0x10, "wrapping pays the proxy");
    }
    assert_eq!(prepaid, None, "the last step pays somebody");
    for (slot, index) in paid.iter_mut().zip(outputs) {
        *slot += std::mem::take(&mut at_hand[index]);
    }
    assert!(at_hand.iter().all(U256::is_zero), "something is left over: {at_hand:?}");
    (spent, paid)
}

fn check(case: &Case) -> Program {
    let program = encode_program(&case.market, &case.route, &case.order).unwrap();
    let decoded = decode(&case.order, &program.bytes);
    let mut seen: Vec<usize> =
        program.steps.iter().flat_map(|step| [Some(step.route_step), step.wraps]).flatten().collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..case.route.steps.len()).collect::<Vec<_>>(), "every step once");
    for (place, step) in program.steps.iter().zip(&decoded.steps) {
        let planned = &case.route.steps[place.route_step];
        let spends = place.wraps.map_or(planned, |wrap| &case.route.steps[wrap]);
        let address = |id: TokenId| case.market.tokens().get(id).unwrap().address;
        let pool = case.market.pool(planned.pool).unwrap();
        assert_eq!(decoded.tokens[step.token_in], address(spends.token_in));
        assert_eq!(decoded.tokens[step.token_out], address(planned.token_out));
        assert_eq!(step.share, spends.share);
        assert_eq!(step.to, place.destination as u8);
        assert!(step.pool.is_none_or(|address| address == pool.key.contract));
        assert_eq!(step.fee_bps.is_some(), step.opcode == 0x10);
    }
    let (spent, paid) = run(case, &program, &decoded);
    let planned: Vec<U256> = case.route.steps.iter().map(|step| step.amount_in).collect();
    assert_eq!(spent, planned, "the proxy spends what the route says");
    assert_eq!(paid, case.route.amounts_out, "the recipient gets what the route says");
    program
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_decoded_is_what_was_routed_and_pays_the_same(shape: Shape) {
        check(&case(&shape));
    }

    #[test]
    fn a_route_that_lies_about_an_amount_is_refused(shape: Shape, which: prop::sample::Index) {
        let mut case = case(&shape);
        let step = which.index(case.route.steps.len());
        case.route.steps[step].amount_in += U256::ONE;
        let refused = encode_program(&case.market, &case.route, &case.order);
        let lie = matches!(refused, Err(EncodeError::AmountInDiffers { step: at, .. }) if at == step);
        prop_assert!(lie);
    }

    #[test]
    fn a_route_that_promises_more_than_it_makes_is_refused(shape: Shape) {
        let mut case = case(&shape);
        case.route.amounts_out[0] += U256::ONE;
        let refused = encode_program(&case.market, &case.route, &case.order);
        let lie = matches!(refused, Err(EncodeError::AmountOutDiffers { index: 0, .. }));
        prop_assert!(lie);
    }
}

#[test]
fn the_example_of_the_specification() {
    let case = routes::split_of_usdc_over_v2_and_v3();
    let program = check(&case);
    let pair = case.market.pools()[0].key.contract;
    let pool = case.market.pools()[1].key.contract;
    let expected = [
        &[0x00][..],
        &[0x10, 0x01, 0x00, 0x01, 0x55, 0x55, 0x55, 0x55],
        pair.as_slice(),
        &[0x00, 0x1e],
        &[0x11, 0x01, 0x00, 0x01, 0, 0, 0, 0],
        pool.as_slice(),
    ]
    .concat();
    assert_eq!(program.bytes, expected);
}

#[test]
fn a_chain_of_pairs_pays_through() {
    let case = routes::chain(&[routes::V2, routes::V2, routes::V2], None);
    let destinations: Vec<_> = check(&case).steps.iter().map(|s| (s.destination, s.prepaid)).collect();
    use Destination::{NextPool, Recipient};
    assert_eq!(destinations, [(NextPool, false), (NextPool, true), (Recipient, true)]);
}

#[test]
fn a_v3_pool_pays_a_pair_but_is_not_paid_in_advance() {
    let case = routes::chain(&[routes::V3, routes::V2, routes::V3], None);
    let destinations: Vec<_> = check(&case).steps.iter().map(|s| (s.destination, s.prepaid)).collect();
    use Destination::{NextPool, Proxy, Recipient};
    assert_eq!(destinations, [(NextPool, false), (Proxy, true), (Recipient, false)]);
}

#[test]
fn a_fee_on_the_output_brings_the_output_to_the_proxy() {
    let fee = PartnerFee { bps: 10, recipient: Address::repeat_byte(9), on_output: true };
    let program = check(&routes::chain(&[routes::V2], Some(fee)));
    assert_eq!(program.steps[0].destination, Destination::Proxy);
    let fee = PartnerFee { on_output: false, ..fee };
    let program = check(&routes::chain(&[routes::V2], Some(fee)));
    assert_eq!(program.steps[0].destination, Destination::Recipient);
}

#[test]
fn a_pool_that_no_factory_vouches_for_pays_the_proxy_and_is_on_no_path() {
    assert_eq!(check(&routes::chain(&[routes::V3], None)).steps[0].destination, Destination::Recipient);
    let program = check(&routes::pool_of_no_factory());
    assert_eq!(program.steps[0].destination, Destination::Proxy);
    assert_eq!(program.path, None);
}

/// A pair's code reverts with `INVALID_TO`: an order whose recipient was WETH's own contract once reverted with it.
#[test]
fn a_pair_does_not_pay_the_contract_of_its_own_token() {
    for own in [0, 1] {
        let mut case = routes::chain(&[routes::V2], None);
        let step = &case.route.steps[0];
        case.order.recipient = case.market.tokens().get([step.token_in, step.token_out][own]).unwrap().address;
        let program = check(&case);
        assert_eq!((program.steps[0].destination, &program.path), (Destination::Proxy, &None));
    }
    // A V3 pool pays anybody.
    let mut case = routes::chain(&[routes::V3], None);
    case.order.recipient = case.order.outputs[0].token;
    assert_eq!(check(&case).steps[0].destination, Destination::Recipient);
}

#[test]
fn a_chain_of_known_pools_is_a_path() {
    let case = routes::chain(&[routes::V3, routes::V2, routes::V3], None);
    let program = check(&case);
    let tokens: Vec<Address> =
        case.route.steps.iter().map(|s| case.market.tokens().get(s.token_out).unwrap().address).collect();
    let fee = [0x00, 0x01, 0xf4];
    let expected =
        [&[0xff, 0x02][..], &fee, tokens[0].as_slice(), &[0x00], tokens[1].as_slice(), &[0x02], &fee].concat();
    assert_eq!(program.path, Some(expected.into()));
    assert_eq!(program.sent(), program.path.as_ref().unwrap());
}

#[test]
fn a_partner_or_a_split_is_no_path() {
    let fee = PartnerFee { bps: 10, recipient: Address::repeat_byte(9), on_output: false };
    assert_eq!(check(&routes::chain(&[routes::V2], Some(fee))).path, None);
    let split = check(&routes::split_of_usdc_over_v2_and_v3());
    assert_eq!(split.path, None);
    assert_eq!(split.sent(), &split.bytes);
}

#[test]
fn a_purchase_goes_along_the_same_pools_for_more_than_it_needs() {
    let mut case = routes::chain(&[routes::V3, routes::V2, routes::V3], None);
    let selling = check(&case).path.unwrap();
    case.order.inputs[0].amount += U256::from(5);
    let program = encode_purchase(&case.market, &case.route, &case.order).unwrap().unwrap();
    assert!(program.buys());
    let path = program.path.clone().unwrap();
    assert_eq!((path[0], &path[1..]), (0xfe, &selling[1..]));
    let unknown = routes::pool_of_no_factory();
    assert_eq!(encode_purchase(&unknown.market, &unknown.route, &unknown.order), Ok(None));
}

#[test]
fn a_purchase_leaves_some_of_the_allowance_where_a_sale_clears_it() {
    let case = routes::chain(&[routes::V3], None);
    let gas = |program: &Program| {
        let payer = Address::repeat_byte(4);
        crate::gas::estimate(&case.market, &case.route, &case.order, program, payer, crate::Authorization::Allowance)
    };
    let purchase = encode_purchase(&case.market, &case.route, &case.order).unwrap().unwrap();
    // EIP-3529 refunds 4,800 gas for a cleared slot.
    assert_eq!(gas(&purchase).unwrap().total_gas_units, gas(&check(&case)).unwrap().total_gas_units + 4_800);
}

/// The figures of `docs/integrate/fees.md`.
#[test]
fn a_signature_costs_more_than_an_allowance() {
    let more = |case: &routes::Case| {
        let (program, payer) = (check(case), Address::repeat_byte(4));
        let gas = |authorization| {
            crate::gas::estimate(&case.market, &case.route, &case.order, &program, payer, authorization).unwrap()
        };
        let [allowance, signature] = [crate::Authorization::Allowance, crate::Authorization::Permit2].map(gas);
        signature.total_gas_units - allowance.total_gas_units
    };
    // The signature pays the first pool, or the proxy, which pays the pools.
    let straight = more(&routes::chain(&[routes::V3], None));
    let by_way_of_the_proxy = more(&routes::split_of_usdc_over_v2_and_v3());
    assert!((26_000..28_000).contains(&straight), "{straight}");
    assert!((30_000..32_000).contains(&by_way_of_the_proxy), "{by_way_of_the_proxy}");
}

#[test]
fn ether_for_one_pool_is_wrapped_by_its_step() {
    let case = routes::ether_to_ether_free_swap();
    let program = check(&case);
    let decoded = decode(&case.order, &program.bytes);
    assert_eq!(decoded.steps.iter().map(|step| step.opcode).collect::<Vec<_>>(), [0x11]);
    assert_eq!(decoded.tokens[decoded.steps[0].token_in], NATIVE_ETHER);
    assert!(!decoded.tokens.contains(&WETH), "no step meets it");
    assert_eq!(program.steps[0].wraps, Some(0));
    assert_eq!(program.path, Some(vec![0xff, 0x02, 0x00, 0x01, 0xf4].into()));
}

#[test]
fn ether_for_two_pools_is_wrapped_first() {
    let case = routes::ether_over_two_pools();
    let program = check(&case);
    let decoded = decode(&case.order, &program.bytes);
    assert_eq!(decoded.steps.iter().map(|step| step.opcode).collect::<Vec<_>>(), [0x01, 0x10, 0x11]);
    assert!(decoded.tokens.contains(&WETH));
    assert_eq!(program.steps[0].destination, Destination::Proxy);
}

#[test]
fn a_step_that_spends_what_a_later_step_makes_is_refused() {
    let mut case = routes::chain(&[routes::V2, routes::V2], None);
    case.route.steps.swap(0, 1);
    let refused = encode_program(&case.market, &case.route, &case.order);
    assert_eq!(refused, Err(EncodeError::NotTopological { step: 0 }));
}

#[test]
fn coins_that_the_pool_does_not_have_are_refused() {
    let mut case = routes::chain(&[routes::V2], None);
    case.route.steps[0].coin_out = 2;
    let refused = encode_program(&case.market, &case.route, &case.order);
    assert_eq!(refused, Err(EncodeError::UnknownPool { step: 0 }));
}

#[test]
fn an_output_that_nobody_makes_is_refused() {
    let mut case = routes::chain(&[routes::V2], None);
    case.order.outputs[0].token = Address::repeat_byte(0x77);
    let refused = encode_program(&case.market, &case.route, &case.order);
    assert!(matches!(refused, Err(EncodeError::AmountOutDiffers { index: 0, got, .. }) if got.is_zero()));
}
