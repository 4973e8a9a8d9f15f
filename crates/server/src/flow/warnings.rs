//! What a caller should know besides the numbers.

use crate::app::App;
use crate::model::Warning;
use crate::proxy::ProxyState;

/// An impact from which a quote warns, in basis points.
const HIGH_IMPACT_BPS: i64 = 500;

/// Warns when the transaction would meet no proxy.
pub fn proxy(app: &App) -> Option<Warning> {
    let message = match app.proxy.state() {
        ProxyState::Unknown | ProxyState::Deployed => return None,
        ProxyState::Missing => "the execution proxy is not deployed on this chain: do not send the transaction",
        ProxyState::Foreign => "other code stands at the execution proxy's address: do not send the transaction",
    };
    Some(Warning { code: "PROXY_NOT_DEPLOYED", message: message.into() })
}

/// Warns when the trade moves the price a lot.
pub fn impact(impact_bps: Option<i64>) -> Option<Warning> {
    let high = impact_bps.filter(|impact| *impact >= HIGH_IMPACT_BPS)?;
    let message = format!("the trade pays {high} basis points less than the reference prices");
    Some(Warning { code: "HIGH_PRICE_IMPACT", message })
}

/// Says that the taker's balances and allowances could not be read.
pub fn accounts_unread() -> Warning {
    let message = "balances and allowances could not be read from the node: they are null here";
    Warning { code: "ALLOWANCES_UNAVAILABLE", message: message.into() }
}

/// Says that there is no explanation.
pub fn no_explanation() -> Warning {
    Warning { code: "EXPLANATION_UNAVAILABLE", message: "this service does not explain routes".into() }
}

/// Says that dollar values were asked for and the market gives none.
pub fn no_dollars() -> Warning {
    let message = "the market has no ether-stablecoin pools deep enough to price in dollars";
    Warning { code: "USD_PRICE_UNAVAILABLE", message: message.into() }
}
