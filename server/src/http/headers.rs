//! Security headers of every answer, including errors and files: only this server's script runs, no site can frame the
//! page, browsers do not guess types, and no address leaks.

use axum::{extract::Request, middleware::Next, response::Response};
use http::{HeaderName, HeaderValue, header};
use leptos::nonce::Nonce;

const FIXED: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // With `no-referrer` a browser says of a form on our own page that it comes from nowhere (`Origin: null`).
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    // This is for browsers that do not support frame-ancestors.
    (header::X_FRAME_OPTIONS, "DENY"),
];

/// Creates the nonce of the answer's inline script, which the page finds in the request, and adds the headers.
pub(super) async fn protect(mut request: Request, next: Next) -> Response {
    let nonce = Nonce::new();
    request.extensions_mut().insert(nonce.clone());
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&policy(&nonce)) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in FIXED {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Files and streams set this header themselves.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The headers as lines, for an answer that bypasses the router. It has no body, so its policy allows nothing.
pub(super) fn lines() -> String {
    let fixed = FIXED.into_iter().map(|(name, value)| format!("{name}: {value}\r\n"));
    let policy = "content-security-policy: default-src 'none'; base-uri 'none'; form-action 'none'; \
                  frame-ancestors 'none'\r\ncache-control: no-store\r\n";
    fixed.chain([policy.to_owned()]).collect()
}

fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; \
         form-action 'self'; frame-ancestors 'none'"
    )
}
