//! Columns that follow from the URL, as Common Crawl computes them.

use super::columns::Row;
use crivello_archive::surt;
use crivello_common::url::CrawlUrl;
use std::net::Ipv4Addr;

/// Sets the columns of a URL, except for `url` itself.
pub(super) fn set_url_parts(row: &mut Row, url: &CrawlUrl) {
    row.url_surtkey = surt(url);
    let origin = url.origin();
    row.url_protocol = origin.scheme.name().to_owned();
    let is_default = origin.port == origin.scheme.default_port();
    row.url_port = (!is_default).then_some(origin.port.into());
    let rest = url.path_and_query();
    let (path, query) =
        rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
    row.url_path = path.to_owned();
    row.url_query = query.map(str::to_owned);
    row.url_host_name = url.host().to_owned();
    let is_address = url.host().starts_with('[') || url.host().parse::<Ipv4Addr>().is_ok();
    if !is_address {
        set_host_parts(row, url.host());
    }
}

fn set_host_parts(row: &mut Row, host: &str) {
    let mut labels = host.rsplit('.').map(str::to_owned);
    row.url_host_tld = labels.next();
    row.url_host_2nd_last_part = labels.next();
    row.url_host_3rd_last_part = labels.next();
    row.url_host_4th_last_part = labels.next();
    row.url_host_5th_last_part = labels.next();
    row.url_host_name_reversed = Some(host.rsplit('.').collect::<Vec<_>>().join("."));
    if let Some(suffixes) = crivello_public_suffix::suffixes(host) {
        row.url_host_registry_suffix = Some(suffixes.registry_suffix.to_owned());
        row.url_host_registered_domain = suffixes.registered_domain.map(str::to_owned);
        row.url_host_private_suffix = Some(suffixes.private_suffix.to_owned());
        row.url_host_private_domain = suffixes.private_domain.map(str::to_owned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(url: &str) -> Row {
        let mut row = Row::default();
        set_url_parts(&mut row, &CrawlUrl::parse(url).expect("a URL"));
        row
    }

    #[test]
    fn parts_are_those_of_the_index_of_common_crawl() {
        let text = |text: &str| Some(text.to_owned());
        let row = row("https://a.www.bbc.co.uk:8443/News/?q=abc&lang=en");
        assert_eq!(row.url_surtkey, "uk,co,bbc,www,a:8443)/news?lang=en&q=abc");
        assert_eq!(row.url_host_name, "a.www.bbc.co.uk");
        assert_eq!(row.url_host_tld, text("uk"));
        assert_eq!(row.url_host_2nd_last_part, text("co"));
        assert_eq!(row.url_host_3rd_last_part, text("bbc"));
        assert_eq!(row.url_host_4th_last_part, text("www"));
        assert_eq!(row.url_host_5th_last_part, text("a"));
        assert_eq!(row.url_host_registry_suffix, text("co.uk"));
        assert_eq!(row.url_host_registered_domain, text("bbc.co.uk"));
        assert_eq!(row.url_host_private_domain, text("bbc.co.uk"));
        assert_eq!(row.url_host_name_reversed, text("uk.co.bbc.www.a"));
        assert_eq!((row.url_protocol.as_str(), row.url_port), ("https", Some(8443)));
        assert_eq!(row.url_path, "/News/");
        assert_eq!(row.url_query, text("q=abc&lang=en"));
    }

    #[test]
    fn an_address_has_no_labels() {
        for url in ["http://127.0.0.1/", "http://[::1]/"] {
            let row = row(url);
            assert!(url.contains(&row.url_host_name));
            assert_eq!(row.url_host_tld, None);
            assert_eq!(row.url_host_registered_domain, None);
            assert_eq!(row.url_host_name_reversed, None);
            assert_eq!((row.url_port, row.url_query), (None, None));
        }
    }
}
