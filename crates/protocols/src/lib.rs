//! One folder per protocol: discovery, state, exact maths, the optimiser's curve, gas and step encoding.
