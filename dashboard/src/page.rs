//! Embedded files of the web page. There is no build step, and nothing is loaded from other sites.

use super::state::State;
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// Path, kind and text of each file.
const FILES: &[(&str, &str, &str)] = &[
    ("/", HTML, include_str!("page/index.html")),
    ("/login", HTML, include_str!("page/login.html")),
    ("/icon.svg", SVG, include_str!("page/icon.svg")),
    ("/base.css", CSS, include_str!("page/base.css")),
    ("/layout.css", CSS, include_str!("page/layout.css")),
    ("/parts.css", CSS, include_str!("page/parts.css")),
    ("/main.js", JS, include_str!("page/main.js")),
    ("/api.js", JS, include_str!("page/api.js")),
    ("/live.js", JS, include_str!("page/live.js")),
    ("/dom.js", JS, include_str!("page/dom.js")),
    ("/format.js", JS, include_str!("page/format.js")),
    ("/confirm.js", JS, include_str!("page/confirm.js")),
    ("/chart.js", JS, include_str!("page/chart.js")),
    ("/totals.js", JS, include_str!("page/totals.js")),
    ("/agents.js", JS, include_str!("page/agents.js")),
    ("/events.js", JS, include_str!("page/events.js")),
    ("/assignment.js", JS, include_str!("page/assignment.js")),
    ("/obstacles.js", JS, include_str!("page/obstacles.js")),
    ("/hosts.js", JS, include_str!("page/hosts.js")),
    ("/why.js", JS, include_str!("page/why.js")),
    ("/discards.js", JS, include_str!("page/discards.js")),
    ("/fetches.js", JS, include_str!("page/fetches.js")),
    ("/search.js", JS, include_str!("page/search.js")),
    ("/traces.js", JS, include_str!("page/traces.js")),
    ("/settings.js", JS, include_str!("page/settings.js")),
    ("/login.js", JS, include_str!("page/login.js")),
];

/// Returns the routes of all files.
pub(super) fn routes() -> Router<State> {
    let mut routes = Router::new();
    for &(path, kind, text) in FILES {
        let answer = async move || ([(CONTENT_TYPE, kind)], text).into_response();
        routes = routes.route(path, get(answer));
    }
    routes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files contain nothing that a strict policy forbids, and no foreign addresses.
    #[test]
    fn no_file_asks_for_what_the_policy_forbids() {
        for (path, kind, text) in FILES {
            for foreign in ["http://", "https://", "//cdn", "@import", "url("] {
                let own = text.replace("http://www.w3.org/", "");
                assert!(!own.contains(foreign), "{path}: {foreign}");
            }
            if *kind == HTML {
                for inline in [" style=", "<style", " onclick", " onload", "javascript:"] {
                    assert!(!text.contains(inline), "{path}: {inline}");
                }
                assert!(!text.replace("<script type=\"module\" src=", "").contains("<script"));
            }
            for eval in ["eval(", "innerHTML", "document.write", "new Function"] {
                assert!(!text.contains(eval), "{path}: {eval}");
            }
        }
    }

    /// Every imported module and every linked file is served.
    #[test]
    fn all_that_is_named_is_there() {
        for (path, _, text) in FILES {
            for mark in ["from \"./", "src=\"/", "href=\"/"] {
                for (at, _) in text.match_indices(mark) {
                    let named = text[at + mark.len()..].split('"').next().unwrap_or_default();
                    let named = format!("/{named}");
                    assert!(FILES.iter().any(|(path, ..)| *path == named), "{path}: {named}");
                }
            }
        }
    }
}
