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

macro_rules! files {
    ($($path:literal => $kind:ident $file:literal,)+) => {
        /// Path, kind and text of each file.
        const FILES: &[(&str, &str, &str)] =
            &[$(($path, $kind, include_str!(concat!("page/", $file))),)+];
    };
}

files! {
    "/" => HTML "index.html",
    "/login" => HTML "login.html",
    "/icon.svg" => SVG "icon.svg",
    "/base.css" => CSS "base.css",
    "/layout.css" => CSS "layout.css",
    "/parts.css" => CSS "parts.css",
    "/main.js" => JS "main.js",
    "/api.js" => JS "api.js",
    "/live.js" => JS "live.js",
    "/dom.js" => JS "dom.js",
    "/format.js" => JS "format.js",
    "/confirm.js" => JS "confirm.js",
    "/chart.js" => JS "chart.js",
    "/totals.js" => JS "totals.js",
    "/agents.js" => JS "agents.js",
    "/events.js" => JS "events.js",
    "/assignment.js" => JS "assignment.js",
    "/hosts.js" => JS "hosts.js",
    "/why.js" => JS "why.js",
    "/discards.js" => JS "discards.js",
    "/fetches.js" => JS "fetches.js",
    "/traces.js" => JS "traces.js",
    "/settings.js" => JS "settings.js",
    "/login.js" => JS "login.js",
}

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
