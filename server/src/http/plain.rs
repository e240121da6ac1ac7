//! The pages that do not need the app: the sign-in page, the page of a failed request, and the frame of those about the
//! journal and about what is switched off. They have no inline script and no inline style, and show no text from outside unescaped.
//!
//! # Decisions
//! - The standard library escapes the five characters. `html-escape` does the same, has four thousand lines of which most
//!   decode, and is here only as long as Leptos renders with it: named here, its version would have to follow Leptos'.

use axum::response::{Html, IntoResponse};
use http::header;

/// The script that reads the token from the address and exchanges it.
const SIGN_IN_SCRIPT: &str = include_str!("sign_in.js");

const SIGN_IN_PAGE: &str = r##"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Unwind: sign in</title>
<link rel="icon" href="/favicon.svg">
<link rel="stylesheet" href="/pkg/unwind.css">
<script type="module" src="/sign-in.js"></script>
</head>
<body class="plain-page">
<main>
<h1>Unwind</h1>
<p id="working" role="status" hidden>Signing in… <span lang="zh-CN">正在登录…</span></p>
<div id="explain">
<p id="failed" role="alert" hidden><strong>This link is not valid, or was used before.</strong>
<span lang="zh-CN">此链接无效或已被使用。</span></p>
<p>This browser is not signed in. Open the link that the server printed when it started, or ask somebody who is signed in
for another one. Each link signs one browser in, once.</p>
<p lang="zh-CN">此浏览器尚未登录。请打开服务器启动时打印的链接，或请已登录的人生成一个新链接。每个链接只能登录一个浏览器，且只能使用一次。</p>
<noscript><p>Signing in needs JavaScript once, to exchange the link for a cookie; reading does not.
<span lang="zh-CN">登录时需要启用一次 JavaScript，用链接换取 Cookie；之后浏览不再需要。</span></p></noscript>
</div>
</main>
</body>
</html>
"##;

/// The page that every address shows without a session.
pub(super) fn sign_in_page() -> impl IntoResponse {
    Html(SIGN_IN_PAGE)
}

/// The script of the sign-in page.
pub(super) async fn sign_in_script() -> impl IntoResponse {
    (
        [
            (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
            (header::CACHE_CONTROL, "no-cache"),
        ],
        SIGN_IN_SCRIPT,
    )
}

/// The page of a failed request; `language` is the value of HTML's `lang` attribute.
pub(super) fn failure_page(
    language: &str,
    what: &str,
    means: &str,
    advice: &str,
) -> impl IntoResponse {
    let [means, advice] = [means, advice].map(escape);
    page(language, what, &format!("<p>{means}</p>\n<p>{advice}</p>\n"))
}

/// A page with this heading, content and a way to the app; `language` is the value of HTML's `lang` attribute.
pub(super) fn page(language: &str, heading: &str, html: &str) -> Html<String> {
    let heading = escape(heading);
    Html(format!(
        r#"<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Unwind: {heading}</title>
<link rel="icon" href="/favicon.svg">
<link rel="stylesheet" href="/pkg/unwind.css">
</head>
<body class="plain-page">
<main>
<h1>{heading}</h1>
{html}<p><a href="/">Unwind</a></p>
</main>
</body>
</html>
"#
    ))
}

/// A heading below that of the page.
pub(super) fn heading(words: &str) -> String {
    format!("<h2>{}</h2>\n", escape(words))
}

/// A paragraph.
pub(super) fn paragraph(words: &str) -> String {
    format!("<p>{}</p>\n", escape(words))
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_in_page_has_nothing_inline_and_the_class_that_styles_it() {
        for inline in ["<script>", "<style", "style=", "onload", "onclick"] {
            assert!(!SIGN_IN_PAGE.contains(inline), "{inline}");
        }
        let style = include_str!("../../../style/plain.css");
        assert!(SIGN_IN_PAGE.contains(r#"<body class="plain-page">"#));
        assert!(style.contains(".plain-page main"), "the class has its rules");
        assert_eq!(escape(r#"<a b="c" d='&'>"#), "&lt;a b=&quot;c&quot; d=&#39;&amp;&#39;&gt;");
    }
}
