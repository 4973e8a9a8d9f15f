//! Tests of the commands that read a market: quotes, tokens, pools and prices.

use std::process::{Command, Output};
use std::sync::Arc;

use braid_devnet::{Devnet, Options};
use braid_market::{Market, Tokens};
use braid_primitives::{Address, B256, Block, NATIVE_ETHER, Token, WETH, address};
use braid_protocols::{Pool, PoolState, Product, uniswap_v2, wrapped_ether};
use serde_json::Value;

const USDC: Address = address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");
const DAI: Address = address!("6B175474E89094C44Da98b954EedeAC495271d0F");
const ODD: Address = address!("00000000000000000000000000000000000000aa");

/// Returns a market with ether at 3,000 dollars in two pools, DAI, and a token with a malicious symbol.
fn market() -> Market {
    let mut tokens = Tokens::new();
    for (address, symbol, decimals) in [(USDC, "USDC", 6), (DAI, "DAI", 18), (ODD, "\u{1b}[2JX\u{202e}", 18)] {
        tokens.insert(Token { address, symbol: symbol.into(), name: format!("{symbol} of the test"), decimals });
    }
    const ETHER: u128 = 1_000_000_000_000_000_000;
    let rows = [
        (1, (WETH, 1_000 * ETHER), (USDC, 3_000_000_000_000)),
        (2, (WETH, 900 * ETHER), (USDC, 2_700_000_000_000)),
        (3, (DAI, 2_000_000 * ETHER), (USDC, 2_000_000_000_000)),
        (4, (WETH, 900 * ETHER), (DAI, 2_700_000 * ETHER)),
        (5, (WETH, 900 * ETHER), (ODD, 900 * ETHER)),
    ];
    let pair = |(number, a, b): (u8, (Address, u128), (Address, u128))| {
        let (first, second) = if a.0 < b.0 { (a, b) } else { (b, a) };
        let coins = [first.0, second.0].iter().map(|coin| tokens.id(*coin).unwrap()).collect();
        let state = uniswap_v2::State { reserve0: first.1, reserve1: second.1, fee_bps: 30 };
        let state = PoolState::UniswapV2(state);
        Pool { key: Address::with_last_byte(number).into(), product: Product::UniswapV2, coins, state }
    };
    let mut pools: Vec<Pool> = rows.map(pair).into();
    let coins = [NATIVE_ETHER, WETH].iter().map(|coin| tokens.id(*coin).unwrap()).collect();
    let state = PoolState::WrappedEther(wrapped_ether::State);
    pools.push(Pool { key: WETH.into(), product: Product::WrappedEther, coins, state });
    let block = Block {
        number: 20_000_000,
        hash: B256::repeat_byte(7),
        parent_hash: B256::repeat_byte(6),
        timestamp: 1_700_000_000,
        base_fee_per_gas_wei: 1_000_000_000,
        gas_used: 15_000_000,
        gas_limit: 30_000_000,
    };
    let tokens = Arc::new(tokens);
    Market::empty(block, Arc::clone(&tokens)).next(block, tokens, pools).unwrap()
}

/// Runs a command on that market.
fn run(args: &[&str]) -> Output {
    run_on(&market(), args)
}

fn run_on(market: &Market, args: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("test.market");
    market.save(&file).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
    command.args(args).args(["--market", file.to_str().unwrap()]).env_clear().output().unwrap()
}

fn said(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&said(args)).unwrap()
}

#[test]
fn a_route_is_drawn_as_a_tree() {
    let text = said(&["quote", "100", "ETH", "USDC"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("100 ETH  →  ") && lines[0].ends_with(" USDC"), "{text}");
    assert_eq!(lines[2], "100 ETH");
    assert!(lines[3].starts_with("└─ 100.00%  100 WETH  (Wrapped Ether 0xC02a"), "{text}");
    let split = lines.iter().filter(|line| line.starts_with("   ├─") || line.starts_with("   └─")).count();
    assert!(split >= 2, "a trade that pays to be split is split: {text}");
    assert!(text.contains("block 20000000") && text.contains("bps below the best that"), "{text}");
}

#[test]
fn a_quote_for_a_machine_adds_up_and_is_that_of_the_old_form() {
    let quote = json(&["quote", "--json", "100", "ETH", "USDC"]);
    let number = |value: &Value| value.as_str().unwrap().parse::<u128>().unwrap();
    let usdc = USDC.to_checksum(None);
    let steps = quote["steps"].as_array().unwrap();
    let paid: u128 =
        steps.iter().filter(|step| step["token_out"] == usdc.as_str()).map(|step| number(&step["amount_out"])).sum();
    let spent: u128 =
        steps.iter().filter(|step| step["token_in"] == usdc.as_str()).map(|step| number(&step["amount_in"])).sum();
    assert_eq!(number(&quote["estimated_outputs"][0]["expected_amount"]), paid - spent);
    assert_eq!(quote["inputs"][0]["amount"], "100000000000000000000");
    assert!(quote["certificate"]["gap_bps"].as_f64().unwrap() >= 0.0);
    assert_eq!(json(&["quote", "--json", "--sell", "ETH:100", "--buy", "USDC"]), quote);
}

#[test]
fn a_quote_without_a_route_names_the_token_and_the_option() {
    let odd = ODD.to_string();
    for words in [["1", &odd, "USDC"], [&odd, "300", "USDC"]] {
        let output = run(&[&["quote", "--max-hops", "1"], &words[..]].concat());
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && told.contains("no route within 1 hops reaches USDC"), "{told}");
        assert!(told.contains("--max-hops"), "{told}");
    }
}

#[test]
fn an_exact_output_is_bought_for_the_least_input() {
    let number = |value: &Value| value.as_str().unwrap().parse::<u128>().unwrap();
    let bought = json(&["quote", "--json", "ETH", "250000", "USDC"]);
    let (amount, sold) = (250_000_000_000, number(&bought["inputs"][0]["amount"]));
    assert_eq!(number(&bought["exact_output"]["amount"]), amount);
    assert!(number(&bought["estimated_outputs"][0]["expected_amount"]) >= amount, "{bought:#}");
    assert!(number(&bought["certificate"]["least_input"]) <= sold, "{bought:#}");
    // A sale of a hundred-thousandth more pays the amount, and one of a thousandth less does not.
    let paid = |wei: u128| {
        let ether = format!("{}.{:018}", wei / 10_u128.pow(18), wei % 10_u128.pow(18));
        number(&json(&["quote", "--json", &ether, "ETH", "USDC"])["estimated_outputs"][0]["expected_amount"])
    };
    assert!(paid(sold + sold / 100_000) >= amount && paid(sold - sold / 1_000) < amount);
    assert_eq!(json(&["quote", "--json", "--sell", "ETH", "--buy", "USDC:250000"]), bought);
    let text = said(&["quote", "ETH", "250000", "USDC"]);
    assert!(text.contains("ETH  →  250000") && text.contains("no route buys it for less than "), "{text}");
}

#[test]
fn a_basket_has_the_shares_that_were_asked_for() {
    let quote = json(&["quote", "--json", "10", "ETH", "2000", "USDC", "DAI:60", &format!("{ODD}:40")]);
    let outputs = quote["estimated_outputs"].as_array().unwrap();
    assert_eq!((quote["inputs"].as_array().unwrap().len(), outputs.len()), (2, 2));
    let whole = |output: &Value| output["expected_amount"].as_str().unwrap().parse::<f64>().unwrap() / 1e18;
    // The token with the odd symbol is worth one ether, and DAI one dollar.
    let share = whole(&outputs[0]) / (whole(&outputs[0]) + 3_000.0 * whole(&outputs[1]));
    assert!((share - 0.6).abs() < 0.01, "{share}");
}

/// A wrong argument ends with 2, in one sentence that says what to write.
#[test]
fn what_cannot_be_asked_is_told_in_one_sentence() {
    let lower = USDC.to_string().to_lowercase();
    let mistyped = USDC.to_string().replace("A0b8", "a0b8");
    let unknown = Address::repeat_byte(0x99).to_string();
    let pool = Address::with_last_byte(3).to_string();
    for (args, words) in [
        (&["quote", "ETH", "USDC"][..], "`ETH 3000 USDC` buys"),
        (&["quote", "ETH", "3000", "USDC", "5", "DAI"], "an exact output has one input and one output"),
        (&["quote", "1.5"], "name the token that 1.5 is of"),
        (&["quote", "1.5", "ETH"], "name what to get after 1.5 ETH"),
        (&["quote", "1.5ETH", "USDC"], "write amount and token apart"),
        (&["quote", "ETH", "1.0000001", "USDC"], "at most 6 decimals"),
        (&["quote", "ETH", "3", "ETH"], "named twice"),
        (&["quote", "1", "ETH", "MOON"], "no token \"MOON\""),
        (&["quote", "1", "ETH", "USDCC"], "Did you mean USDC?"),
        (&["quote", "1", "ETH", "ETH"], "named twice"),
        (&["quote", "1.0000001", "USDC", "ETH"], "at most 6 decimals"),
        (&["quote", "0", "ETH", "USDC"], "write one above zero"),
        (&["quote", "-1", "ETH", "USDC"], "\"-1\" is no amount of ETH"),
        (&["quote", "1,000", "USDC", "ETH"], "write 1000, or 1.000 if the comma begins the decimals"),
        (&["quote", "1", "ETH", "USDC:50", "DAI:40"], "as in `USDC:60 WBTC:40`, and they sum to 90.00"),
        (&["quote", "1", "ETH", "USDC:50", "DAI"], "DAI has none"),
        (&["quote", "1", "ETH", "USDC=50", "DAI=50"], "write a share after a colon: USDC:50"),
        (&["quote", "--sell", "ETH", "--buy", "USDC"], "`--sell USDC:1000 --buy WETH`"),
        (&["quote", "1", "ETH", &mistyped], "the checksum of"),
        (&["quote", "1", "ETH", &lower[..41]], "40 hexadecimal digits; it has 39"),
        (&["prices", &unknown], "no pool in it holds that token"),
        (&["pools", &pool], "is a pool of DAI USDC, not a token"),
        (&["pools", "MOON"], "no token"),
    ] {
        let output = run(args);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), text.lines().count()), (Some(2), 1), "{text}");
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(said(&["quote", "1", "ETH", &lower]), said(&["quote", "1", "ETH", "USDC"]));
    assert_eq!(said(&["prices", &Address::ZERO.to_string()]), said(&["prices", "ETH"]));
}

#[test]
fn a_quote_shows_its_price_impact_and_warns_of_a_large_one() {
    let impact = |text: &str| text.lines().find_map(|line| line.strip_prefix("price impact ").map(str::to_owned));
    let small = said(&["quote", "1", "ETH", "USDC"]);
    assert!(impact(&small).unwrap().starts_with("0.3") && !small.contains("warning"), "{small}");
    let basket = said(&["quote", "10", "ETH", "USDC:60", "DAI:40"]);
    let told = impact(&basket).unwrap();
    assert!(told.contains("% in total: USDC 0.") && told.contains("%, DAI 0."), "{basket}");
    let large = said(&["quote", "2000", "ETH", "USDC"]);
    let quote = json(&["quote", "--json", "2000", "ETH", "USDC"]);
    let bps = quote["total_price_impact_bps"].as_i64().unwrap();
    assert_eq!(quote["estimated_outputs"][0]["price_impact_bps"], bps);
    let percent = format!("{}.{:02}%", bps / 100, bps % 100);
    assert!(bps > 500 && impact(&large).unwrap() == percent, "{large}");
    assert!(large.contains(&format!("\nwarning: the price impact is {percent}")), "{large}");
}

/// A basket of which one output is bought with the other, printed the shares of the part that is sent on as of the whole.
#[test]
fn what_is_kept_of_an_output_that_is_sent_on_has_a_line_of_its_own() {
    // DAI is reached through USDC alone
    let whole = market();
    let pools: Vec<Pool> = whole
        .pools()
        .iter()
        .filter(|pool| {
            let has =
                |address: Address| pool.coins.iter().any(|coin| whole.tokens().get(*coin).unwrap().address == address);
            !(has(ODD) || has(WETH) && has(DAI))
        })
        .map(|pool| Pool::clone(pool))
        .collect();
    assert_eq!(pools.len(), 4);
    let tokens = Arc::new(Tokens::clone(whole.tokens()));
    let market = Market::empty(*whole.block(), Arc::clone(&tokens)).next(*whole.block(), tokens, pools).unwrap();
    let output = run_on(&market, &["quote", "1", "ETH", "USDC:60", "DAI:40"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let share = |word: &str| {
        let line = text.lines().find(|line| line.contains(word)).unwrap_or_else(|| panic!("{word}: {text}"));
        line.split('%').next().unwrap().split_whitespace().last().unwrap().parse::<f64>().unwrap()
    };
    let (kept, sent_on) = (share("USDC, kept"), share(" DAI  (Uniswap V2"));
    assert!((kept - 60.0).abs() < 1.0 && (kept + sent_on - 100.0).abs() < 0.001, "{text}");
}

/// The help of `braid swap` recommends the variable: it made every command refuse `--market`.
#[test]
fn a_market_file_counts_before_the_node_of_the_environment() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("test.market");
    market().save(&file).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
    command.args(["prices", "ETH", "--market", file.to_str().unwrap()]).env_clear();
    let output = command.env("BRAID_RPC_URL", "http://127.0.0.1:1").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), said(&["prices", "ETH"]));
}

#[test]
fn a_search_without_a_match_says_so() {
    let output = run(&["tokens", "nothing"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert!(String::from_utf8(output.stderr).unwrap().contains("no token has \"nothing\" in its symbol or name"));
}

#[test]
fn a_reader_that_has_enough_ends_the_command_with_success() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("test.market");
    market().save(&file).unwrap();
    let piped = |closed: &str, words: &str| {
        let script = format!("\"$0\" {words} --market \"$1\" {closed}");
        Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_braid"), file.to_str().unwrap()]).output().unwrap()
    };
    let output = piped("| true; exit 0", "quote 100 ETH USDC");
    assert!(output.stderr.is_empty(), "{output:?}");
    // A message that cannot be written is no panic.
    let output = piped("2>/dev/full", "quote 1 ETH MOON");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn what_has_no_route_ends_with_a_code_of_its_own() {
    let output = run(&["quote", "0.000000000000000001", "ETH", "USDC"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.starts_with("braid: no quote: "), "{text}");
}

#[test]
fn a_symbol_of_several_tokens_is_the_one_with_the_most_pools_and_that_is_said() {
    let copy = Token { address: Address::repeat_byte(0xbb), symbol: "dai".into(), name: "Copy".into(), decimals: 18 };
    let mut tokens = Tokens::clone(market().tokens());
    tokens.insert(copy);
    let market = market().next(*market().block(), Arc::new(tokens), []).unwrap();
    let output = run_on(&market, &["prices", "DAI"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text, format!("DAI is {DAI} here; another token has this symbol too: name it by its address\n"));
    let by_address = run_on(&market, &["prices", &DAI.to_string()]);
    assert_eq!((by_address.stderr, by_address.stdout), (Vec::new(), output.stdout));
}

#[test]
fn tokens_pools_and_prices_are_listed() {
    let text = said(&["tokens", "usd"]);
    assert!(text.starts_with("USDC ") && text.lines().count() == 1, "{text}");
    assert_eq!(json(&["tokens", "--json", "usd"])[0]["tags"], serde_json::json!(["stablecoin"]));
    assert!(said(&["tokens", "--limit", "2"]).contains("and 3 more"));
    assert!(said(&["pools", "WETH", "USDC"]).ends_with("2 pools at block 20000000\n"));
    assert_eq!(json(&["pools", "--json", "DAI"]).as_array().unwrap().len(), 2);
    let prices = json(&["prices", "--json", "ETH", "USDC"]);
    assert_eq!((&prices[0]["price_eth"], prices[1]["price_usd"].as_f64().unwrap().round()), (&Value::from("1"), 1.0));
    assert!(said(&["prices", "WETH"]).starts_with("WETH         1 ETH  $"));
}

#[test]
fn a_hostile_symbol_does_not_move_the_cursor() {
    for args in [&["tokens"][..], &["pools", "WETH"], &["quote", "1", "ETH", &ODD.to_string()]] {
        let text = said(args);
        assert!(text.contains("[2JX") && !text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text:?}");
    }
}

/// Commands without a service took pools with as little ether as there is, and did not know the option.
#[tokio::test(flavor = "multi_thread")]
async fn a_market_that_a_command_reads_from_a_node_has_no_pools_below_min_ether() {
    let chain = Devnet::start(Options::default()).await.unwrap();
    let url = chain.http_url();
    let pools_of_ether = async |floor: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
        command.args(["pools", "WETH", "--json", "--rpc-url", &url, "--min-ether", floor]).env_clear();
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Vec<Value>>(&output.stdout).unwrap().len()
    };
    let (all, rich) = (pools_of_ether("0").await, pools_of_ether("1000000000").await);
    assert!(rich < all, "{rich} of {all}");
}
