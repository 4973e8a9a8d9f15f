//! Simulates a draft as its taker would send it.

use braid_simulation::Caller;

use crate::draft::Draft;
use crate::shown::Shown;
use crate::simulation::{Asking, Simulated, Simulations};

/// The simulation of a draft, where its request asks for one.
pub(crate) async fn of(draft: &Draft, caller: Caller, simulations: &Simulations) -> Option<Simulated> {
    if !draft.request.simulate {
        return None;
    }
    let (market, shown) = (&draft.published.head.market, Shown::by(&draft.request));
    let asking = Asking { caller, market, route: &draft.solution.route, shown, buys: draft.program.buys() };
    Some(simulations.of_quote(asking, draft.request.taker, &draft.order, &draft.program).await)
}
