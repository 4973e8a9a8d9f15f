//! The HTTP service: routes, authentication, validation, problem details, readiness.
