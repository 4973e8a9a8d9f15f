//! Serves the explorer: the page at `/`, built from the folder `explorer/` and embedded in the binary.

use std::sync::LazyLock;

use axum::Router;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use crate::http::static_text::StaticText;

/// Content security policy of the page: its own script and styles, calls of this service, and wallets' icons as `data:`
/// URLs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The built files: path, media type, bytes.
const FILES: [(&str, &str, &[u8]); 4] = [
    ("/", "text/html; charset=utf-8", include_bytes!("../../../explorer/dist/index.html")),
    ("/explorer/app.js", "text/javascript; charset=utf-8", include_bytes!("../../../explorer/dist/app.js")),
    ("/explorer/app.css", "text/css; charset=utf-8", include_bytes!("../../../explorer/dist/app.css")),
    ("/explorer/icon.svg", "image/svg+xml", include_bytes!("../../../explorer/dist/icon.svg")),
];

static TEXTS: LazyLock<[StaticText; FILES.len()]> =
    LazyLock::new(|| FILES.map(|(_, kind, bytes)| StaticText::new(kind, bytes)));

/// Returns the routes of the built files.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let paths = FILES.into_iter().map(|(path, _, _)| path).enumerate();
    paths.fold(Router::new(), |router, (index, path)| {
        router.route(path, get(move |headers: HeaderMap| file(index, headers)))
    })
}

async fn file(index: usize, headers: HeaderMap) -> Response {
    let guards = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (guards, TEXTS[index].answer(&headers).await).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use braid_protocols::Product;
    use serde_json::{Value, json};

    #[test]
    fn the_page_names_every_product_as_the_service_does() {
        let page: BTreeMap<String, Value> =
            serde_json::from_str(include_str!("../../../explorer/src/products.json")).unwrap();
        let own = Product::ALL
            .iter()
            .map(|product| (product.id().to_owned(), json!({"family": product.family(), "name": product.name()})));
        assert_eq!(
            page,
            own.collect(),
            "write the list of crates/protocols/src/registry.rs into explorer/src/products.json"
        );
    }
}
