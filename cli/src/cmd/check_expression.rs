//! `crivello check-expression`: tries a condition on links without a crawl.

use crate::args::CheckExpressionArgs;
use crate::exit::{CliError, Exit, usage};
use crate::screen;
use crivello_common::fields::link::{LinkRecord, ParentRecord, compile_condition};
use crivello_common::url::CrawlUrl;
use std::fmt::Write as _;

/// Judges each URL. The exit code is 1 if any is not admitted.
///
/// # Errors
/// Fails if the expression or a URL is invalid.
pub fn run(args: &CheckExpressionArgs) -> Result<Exit, CliError> {
    let condition = compile_condition(&args.expression)
        .map_err(|problem| usage!("{problem}"))?
        .ok_or_else(|| usage!("the expression is empty"))?;
    let parent = args.parent.as_deref().map(parse).transpose()?;
    let parent = parent.as_ref().map(|url| ParentRecord { url, status: 200, bytes: 0 });
    let depth = parent.map_or(0, |_| args.parent_depth.saturating_add(1));
    let (mut text, mut all_admitted) = (String::new(), true);
    for url in &args.urls {
        let url = parse(url)?;
        let nofollow = args.nofollow;
        let link = LinkRecord { url: &url, depth, is_sitemap: false, nofollow, parent };
        let admitted = condition.bool(&link);
        all_admitted &= admitted == Ok(true);
        let _ = match admitted {
            Ok(true) => writeln!(text, "admitted  {url}"),
            Ok(false) => match condition.reason_for_false(&link) {
                Some(reason) => writeln!(text, "refused   {url}  {reason}"),
                None => writeln!(text, "refused   {url}"),
            },
            Err(error) => writeln!(text, "failed    {url}  {error}"),
        };
    }
    screen::print_out(&text);
    Ok(if all_admitted { Exit::Finished } else { Exit::Disallowed })
}

fn parse(text: &str) -> Result<CrawlUrl, CliError> {
    CrawlUrl::parse(text).map_err(|reason| usage!("{text}: not a URL ({})", reason.name()))
}
