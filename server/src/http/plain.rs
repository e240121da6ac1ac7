//! The pages that need no module in the browser: the sign-in page, the page of a failed request, and the frame of those about the
//! journal, about notifications and about what is switched off, which has the links and the words of the app's frame. They have no inline script and no
//! inline style, and show no text from outside unescaped.
//!
//! # Decisions
//! - The standard library escapes the five characters. `html-escape` does the same, has four thousand lines of which most
//!   decode, and is here only as long as Leptos renders with it: named here, its version would have to follow Leptos'.

use app::{
    ICONS, navigation::address::TROUBLE, state::production::is_production, text,
    view::frame::cluster_of,
};
use axum::response::{Html, IntoResponse};
use http::header;
use teardown::message::{ClusterCard, Topic};

use crate::hub::{HubClosed, HubHandle};

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
    let content = content(heading, &format!("{html}<p><a href=\"/\">{}</a></p>\n", text::PRODUCT));
    document(language, heading, &format!("<body class=\"plain-page\">\n{content}</body>"))
}

/// A page with this heading and content in the frame that the pages of the app have, for a reader who is signed in.
pub(super) fn framed(heading: &str, html: &str, cluster: Option<&ClusterCard>) -> Html<String> {
    let body = format!(
        r##"<body>
<a class="frame-skip" href="#content">{skip}</a>
<div class="frame">
<nav class="frame-rail" aria-label="{main}">
<a class="frame-brand" href="/" aria-label="{product}">{brand}</a>
{units}{runs}{trouble}</nav>
<div class="frame-column">
<header class="frame-top">
<nav class="frame-crumbs" aria-label="{breadcrumb}"><ol><li><a href="/">{all}</a></li>
<li><span aria-current="page">{here}</span></li></ol></nav>
<div class="frame-status">{cluster}</div>
</header>
<div class="plain-page">
{content}</div>
</div>
</div>
</body>"##,
        skip = text::SKIP_LINK,
        main = text::MAIN_NAVIGATION,
        product = text::PRODUCT,
        brand = icon("brand"),
        units = link("/", "kind-unit", text::UNITS),
        runs = link("/#runs", "icon-run", text::RUNS),
        trouble = link(TROUBLE, "icon-warning", text::TROUBLE),
        breadcrumb = text::BREADCRUMB,
        all = text::UNITS,
        here = escape(heading),
        cluster = cluster.map(badge).unwrap_or_default(),
        content = content(heading, html),
    );
    document(text::LANGUAGE, heading, &body)
}

/// The card of the cluster for the frame; none as long as the cluster has not been read.
pub(super) async fn cluster(hub: &HubHandle) -> Result<Option<ClusterCard>, HubClosed> {
    Ok(hub.query(Topic::Trouble).await?.ok().as_ref().and_then(cluster_of))
}

fn icon(name: &str) -> String {
    format!(
        r#"<svg class="icon" width="16" height="16" aria-hidden="true"><use href="{ICONS}#{name}"></use></svg>"#
    )
}

fn link(to: &str, symbol: &str, label: &str) -> String {
    format!("<a class=\"frame-link\" href=\"{to}\">{} <span>{label}</span></a>\n", icon(symbol))
}

/// The cluster's name, and whether it is simulated or in production.
fn badge(card: &ClusterCard) -> String {
    let name = escape(&text::isolated(&card.name));
    let production = match is_production(&card.name) {
        true => format!("<span class=\"frame-production\">{}</span>\n", text::PRODUCTION),
        false => String::new(),
    };
    let simulated = card.demo.as_ref().map(|_| text::SIMULATED).unwrap_or_default();
    format!(
        "{production}<span class=\"frame-cluster\">{} <span>{} <bdi class=\"frame-cluster-name\">{name}</bdi> {simulated}</span></span>",
        icon("kind-node"),
        text::CLUSTER,
    )
}

fn content(heading: &str, html: &str) -> String {
    format!("<main id=\"content\" tabindex=\"-1\">\n<h1>{}</h1>\n{html}</main>\n", escape(heading))
}

fn document(language: &str, heading: &str, body: &str) -> Html<String> {
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
{body}
</html>
"#
    ))
}

/// A heading below that of the page.
pub(super) fn heading(words: &str) -> String {
    format!("<h2>{}</h2>\n", escape(words))
}

/// The words of an error or of an object, which may be anything.
pub(super) fn quote(words: &str) -> String {
    format!("<p class=\"quote\">{}</p>\n", escape(&text::visible(words)))
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
    fn page_in_the_frame_leads_to_the_pages_of_the_app_and_escapes_what_it_says() {
        let Html(page) = framed("Put <back>", "<p>It is off.</p>\n", None);
        for link in [r#"href="/""#, r##"href="/#runs""##, r#"href="/trouble""#] {
            assert!(page.contains(link), "{link}: {page}");
        }
        assert!(page.contains(r#"<span aria-current="page">Put &lt;back&gt;</span>"#), "{page}");
        assert!(page.contains("<h1>Put &lt;back&gt;</h1>\n<p>It is off.</p>"), "{page}");
        let style = include_str!("../../../style/view/frame.css");
        for class in ["frame", "frame-rail", "frame-top", "frame-crumbs", "frame-status"] {
            assert!(page.contains(&format!("class=\"{class}\"")), "{class}: {page}");
            assert!(style.contains(&format!(".{class} {{")), "{class} has its rules");
        }
        assert!(!page.contains("<script") && !page.contains("style="), "{page}");
    }

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
