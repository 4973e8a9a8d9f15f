//! Simulates a draft as its taker would send it.

use braid_simulation::{Caller, Kept};

use crate::draft::Draft;
use crate::shown::Shown;
use crate::simulation::{Asking, Simulated, Simulations};

/// Simulates a draft, where its request asks for it, in the place that was `kept` for that.
pub(crate) async fn of(
    draft: &Draft,
    kept: Option<Kept>,
    caller: Caller,
    simulations: &Simulations,
) -> Option<Simulated> {
    if !draft.asked.request.simulate {
        return None;
    }
    let (market, shown) = (&draft.asked.published.head.market, Shown::by(&draft.asked.request));
    let asking = Asking { caller, market, route: &draft.found.solution.route, shown, program: &draft.found.program };
    Some(simulations.of_quote(asking, kept, draft.asked.request.taker, &draft.found.order).await)
}
