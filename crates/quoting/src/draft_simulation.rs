//! Simulates a draft as its taker would send it.

use braid_simulation::{Caller, Kept};

use crate::draft::Draft;
use crate::shown::Shown;
use crate::simulation::{Simulated, SimulationInput, Simulations};

/// Simulates a draft in its `kept` slot; `None` if its request wants no simulation.
pub(crate) async fn simulate(
    draft: &Draft,
    kept: Option<Kept>,
    caller: Caller,
    simulations: &Simulations,
) -> Option<Simulated> {
    if !draft.input.request.simulate {
        return None;
    }
    let (market, shown) = (&draft.input.published.head.market, Shown::by(&draft.input.request));
    let simulation =
        SimulationInput { caller, market, route: &draft.found.solution.route, shown, program: &draft.found.program };
    Some(simulations.of_quote(simulation, kept, draft.input.request.taker, &draft.found.order).await)
}
