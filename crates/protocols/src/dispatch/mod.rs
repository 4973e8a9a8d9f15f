//! Dispatch of shared code's calls to the record of a product.

mod pool;
mod product;
mod vault;
