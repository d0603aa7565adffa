//! Agreement of pages and graph. The expectation is made from the graph, but a visitor reads pages:
//! both must have the same links.

use simweb::names::HostRef;
use simweb::page::html;
use simweb::route::Route;
use simweb::world::{Target, World};
use simweb::{PageKind, Spec};
use std::collections::BTreeSet;
use url::Url;

/// Returns all links of a page except `nofollow` links, resolved as in a browser, without
/// fragments.
fn read(base: &Url, html: &str) -> BTreeSet<String> {
    let attribute = |tag: &str| {
        let (_, rest) = tag.split_once("href=\"")?;
        rest.split('"').next().map(str::to_owned)
    };
    let tags: Vec<&str> = html.split('<').map(|t| t.split('>').next().unwrap_or("")).collect();
    let based = tags.iter().find(|t| t.starts_with("base ")).and_then(|t| attribute(t));
    let base = based.map_or_else(|| base.clone(), |href| base.join(&href).expect("a base"));
    let links = tags.iter().filter(|t| t.starts_with("a ") && !t.contains("rel=\"nofollow\""));
    let refresh = tags.iter().filter(|t| t.contains("Refresh")).filter_map(|t| {
        let (_, rest) = t.split_once("URL='")?;
        rest.split('\'').next().map(str::to_owned)
    });
    links
        .filter_map(|t| attribute(t))
        .chain(refresh)
        .map(|href| {
            let mut url = base.join(&href).expect("a link");
            url.set_fragment(None);
            String::from(url)
        })
        .collect()
}

#[test]
fn pages_link_to_what_the_graph_says() {
    let world = World::new(Spec::demo().with_endless_hosts().port(8_080));
    let mut n_links = 0;
    for id in 0..world.names().len() {
        let routes = (0..world.n_pages(id)).map(Route::Page);
        let more = [Route::Day(5), Route::Segments(2), Route::Hidden(1), Route::Nofollowed(0)];
        for route in routes.chain(more) {
            let at = Target { host: HostRef::new(id), route };
            if matches!(route, Route::Page(i) if world.kind(id, i) == PageKind::LinkHeader) {
                continue;
            }
            let base = Url::parse(&world.url(at)).expect("a URL");
            assert_eq!(base.as_str(), world.url(at), "a URL in normal form");
            let follow = world.links(at).into_iter().filter(|l| !l.nofollow);
            let wanted: BTreeSet<String> = follow.map(|l| world.url(l.target)).collect();
            assert_eq!(read(&base, &html(&world, at)), wanted, "{base}");
            n_links += wanted.len();
        }
    }
    assert!(n_links > 10_000, "{n_links}");
}
