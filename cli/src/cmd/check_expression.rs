//! `crivello check-expression`: tries a condition on links, or a rule for their priorities, without a
//! crawl.

use crate::args::CheckExpressionArgs;
use crate::exit::{CliError, Exit, usage};
use crate::screen;
use crivello_common::fields::link::{LinkRecord, ParentRecord, compile_condition};
use crivello_common::fields::priority::PriorityRule;
use crivello_common::url::CrawlUrl;
use crivello_expressions::Expression;
use std::fmt::Write as _;

/// Judges each URL. The exit code is 1 if a condition does not admit one.
///
/// # Errors
/// Fails if the expression or a URL is invalid.
pub fn run(args: &CheckExpressionArgs) -> Result<Exit, CliError> {
    let rule = match compile_condition(&args.expression) {
        Ok(condition) => {
            Rule::Condition(condition.ok_or_else(|| usage!("the expression is empty"))?)
        }
        Err(problem) => match PriorityRule::compile(&args.expression) {
            Ok(Some(rule)) => Rule::Priority(rule),
            _ => return Err(usage!("{problem}")),
        },
    };
    let parent = args.parent.as_deref().map(parse).transpose()?;
    let parent = parent.as_ref().map(|url| ParentRecord {
        url,
        status: 200,
        bytes: 0,
        text_length: 0,
        language: "und",
    });
    let depth = parent.map_or(0, |_| args.parent_depth.saturating_add(1));
    let (mut text, mut all_admitted) = (String::new(), true);
    for url in &args.urls {
        let url = parse(url)?;
        let nofollow = args.nofollow;
        let link = LinkRecord { url: &url, depth, is_sitemap: false, nofollow, parent };
        let condition = match &rule {
            Rule::Condition(condition) => condition,
            Rule::Priority(rule) => {
                let _ = writeln!(text, "{:<8}  {url}", rule.priority(&link));
                continue;
            }
        };
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

/// The expression, by its type.
enum Rule {
    /// A condition, as of `links.admit`.
    Condition(Expression),
    /// A number, as of `links.priority`.
    Priority(PriorityRule),
}

fn parse(text: &str) -> Result<CrawlUrl, CliError> {
    CrawlUrl::parse(text).map_err(|reason| usage!("{text}: not a URL ({})", reason.name()))
}
