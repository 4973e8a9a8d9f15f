use braid_primitives::U256;
use serde_json::{Value, json};

use super::flow::Flow;
use super::layout::{Layout, WIDTH};
use super::{clean, svg, text, view};

const A: &str = "0x000000000000000000000000000000000000000A";
const B: &str = "0x000000000000000000000000000000000000000b";
const C: &str = "0x000000000000000000000000000000000000000C";

fn step(token_in: &str, token_out: &str, amount_in: &str, amount_out: &str) -> Value {
    json!({"protocol": "uniswap_v3", "pool": "0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640", "token_in": token_in, "token_out": token_out,
        "amount_in": amount_in, "amount_out": amount_out, "share_bps": 5_000})
}

fn token(address: &str, symbol: &str) -> Value {
    json!({"address": address, "symbol": symbol, "decimals": 0})
}

fn answer(steps: &[Value], outputs: &[(&str, &str, &str)]) -> Value {
    let outputs: Vec<Value> = outputs
        .iter()
        .map(|(token, amount, price)| {
            json!({"token": token, "decimals": 0, "expected_amount": amount, "reference_price": {"numeraire": "ETH", "value": price}})
        })
        .collect();
    json!({"block": {"number": 17}, "estimated_inputs": [{"token": A, "expected_amount": "100"}], "estimated_outputs": outputs,
        "path": {"tokens": [token(A, "AAA"), token(B, "BBB"), token(C, "CCC")], "steps": steps},
        "certificate": {"gap_bps": 0.4278741322958068, "pools_covered": 178}})
}

/// Returns a split that merges: 60 through B, and 40 directly to C.
fn merging() -> Value {
    let steps = [step(A, B, "60", "30"), step(A, C, "40", "20"), step(B, C, "30", "60")];
    answer(&steps, &[(C, "80", "2")])
}

fn flow(answer: &Value) -> Flow {
    Flow::of(&serde_json::from_value::<view::Quote>(answer.clone()).unwrap())
}

#[test]
fn words_of_two_lines_stay_apart() {
    for end in ["\n", "\r\n", "\t", "\u{b}", "\u{85}", "\u{2028}", "\u{2029}"] {
        assert_eq!(clean(&format!("{end}one{end}two{end}"), 40), "one two", "{end:?}");
    }
    assert_eq!(clean("a\u{202e}b\u{0}c\u{200b}d\u{feff}e", 40), "abcde");
}

#[test]
fn widths_are_amounts_and_what_comes_in_goes_out() {
    let flow = flow(&merging());
    let values: Vec<f64> = flow.links.iter().map(|link| link.value).collect();
    assert_eq!(values, [0.75, 0.25, 0.75]);
    assert_eq!(flow.nodes.iter().map(|node| node.value).collect::<Vec<_>>(), [1.0, 0.75, 1.0]);
    assert_eq!(flow.nodes.iter().map(|node| node.is_end).collect::<Vec<_>>(), [true, false, true]);
}

#[test]
fn outputs_are_weighed_by_their_prices() {
    let steps = [step(A, B, "100", "100"), step(B, C, "50", "10")];
    let flow = flow(&answer(&steps, &[(B, "50", "2"), (C, "10", "10")]));
    assert_eq!(flow.links.iter().map(|link| link.value).collect::<Vec<_>>(), [1.0, 0.5]);
}

#[test]
fn an_input_that_steps_make_too_is_not_as_wide_before_as_after_it_joins() {
    let mut answer = answer(&[step(A, B, "100", "25"), step(B, C, "100", "100")], &[(C, "100", "1")]);
    answer["estimated_inputs"] = json!([{"token": A, "expected_amount": "100"}, {"token": B, "expected_amount": "75"}]);
    assert_eq!(flow(&answer).links.iter().map(|link| link.value).collect::<Vec<_>>(), [0.25, 1.0]);
}

#[test]
fn a_token_that_the_route_comes_back_to_has_a_node_for_each_visit() {
    let steps = [step(A, B, "10", "10"), step(B, A, "5", "5"), step(A, C, "5", "5")];
    let flow = flow(&answer(&steps, &[(C, "5", "1")]));
    assert_eq!(flow.nodes.iter().filter(|node| node.token == A).count(), 2);
    assert_eq!(flow.ordered().len(), flow.nodes.len(), "a circle");
}

#[test]
fn nodes_stand_inside_the_picture_and_apart() {
    let flow = flow(&merging());
    let layout = Layout::of(&flow);
    for place in &layout.nodes {
        assert!(
            place.x >= 0.0 && place.x < WIDTH && place.y >= -0.01 && place.y + place.height <= layout.height + 0.01
        );
    }
    let pairs = layout.nodes.iter().enumerate().flat_map(|(at, a)| layout.nodes[at + 1..].iter().map(move |b| (a, b)));
    for (a, b) in pairs.filter(|(a, b)| a.layer == b.layer) {
        assert!(a.y + a.height < b.y || b.y + b.height < a.y);
    }
}

#[test]
fn a_link_that_passes_a_layer_is_drawn_beside_what_is_there() {
    let layout = Layout::of(&flow(&merging()));
    let (direct, passed) = (&layout.links[1], &layout.nodes[1]);
    let [first, second] = direct.parts.as_slice() else { panic!("{direct:?}") };
    assert_eq!(first[1].1, second[0].1, "it passes the layer straight");
    let (above, below) = (first[1].1 - direct.width / 2.0, first[1].1 + direct.width / 2.0);
    assert!(below < passed.y || above > passed.y + passed.height, "{direct:?} {passed:?}");
}

#[test]
fn products_have_their_own_names_and_a_colour_each_family() {
    let picture = svg(&merging().to_string()).unwrap();
    assert!(picture.contains(">Uniswap V3 · 50%<") && picture.contains("#c2257a"), "{picture}");
    let mut unknown = merging();
    unknown["path"]["steps"][0]["protocol"] = json!("of_tomorrow");
    assert!(svg(&unknown.to_string()).unwrap().contains("of_tomorrow"));
}

#[test]
fn the_same_answer_gives_the_same_bytes() {
    let text = merging().to_string();
    let picture = svg(&text).unwrap();
    assert_eq!(picture, svg(&text).unwrap());
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert!(picture.contains("100 AAA → 80 CCC"), "{picture}");
    assert!(picture.contains("3 steps on block 17, at most 0.428 bps better exists in 178 pools"), "{picture}");
}

#[test]
fn a_hostile_symbol_is_text_and_short() {
    let mut hostile = merging();
    let symbol = format!("<script>alert(1)</script>\u{202e}\u{0}{}", "e\u{301}\u{301}\u{301}\u{301}".repeat(2_000));
    hostile["path"]["tokens"][0]["symbol"] = json!(symbol);
    hostile["path"]["tokens"][1]["symbol"] = json!("\"/><a href='x'>");
    hostile["path"]["tokens"][2]["symbol"] = json!("\u{200b}\u{202e}");
    let picture = svg(&hostile.to_string()).unwrap();
    assert!(!picture.contains("<script") && !picture.contains("<a ") && !picture.contains('\u{202e}'), "{picture}");
    assert!(picture.contains("&lt;script&gt;ale…") && picture.contains("0x0000…000C"), "{picture}");
    assert!(picture.len() < 10_000);
}

#[test]
fn amounts_of_256_bits_and_of_nothing_are_drawn() {
    let most = U256::MAX.to_string();
    for amount in [most.as_str(), "0", "1"] {
        let steps = [step(A, B, amount, amount), step(A, C, amount, amount), step(B, C, amount, amount)];
        let picture = svg(&answer(&steps, &[(C, amount, "0.000000000000001")]).to_string()).unwrap();
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
    }
    assert!(svg("{}").is_err());
}

#[test]
fn amounts_are_cut_and_never_rounded_up() {
    let brief = |amount: &str, decimals| text::brief(amount.parse().unwrap(), decimals);
    assert_eq!(brief("1999999999999999999", 18), "1.99999");
    assert_eq!(brief("123456789", 2), "1,234,567");
    assert_eq!(brief("5", 6), "0.000005");
    assert_eq!(brief("0", 18), "0");
    assert_eq!(brief(&U256::MAX.to_string(), 0), "1.157 × 10^77");
    assert_eq!([0.0, 0.000_03, 1.5, 12.000_1].map(text::gap_bps), ["0", "0.001", "1.5", "12.001"]);
    assert_eq!(
        (text::percent(10_000), text::percent(3_333), text::percent(50)),
        ("100%".into(), "33.33%".into(), "0.5%".into())
    );
}
