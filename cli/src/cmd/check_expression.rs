//! `crivello check-expression`: tries an expression on links or pages, without a crawl.

use crate::args::{CheckExpressionArgs, ExpressionSetting};
use crate::exit::{CliError, Exit, usage};
use crate::screen;
use crivello_common::fields::link::{LinkRecord, ParentRecord, compile_condition};
use crivello_common::fields::page::{KeepRule, PageRecord};
use crivello_common::fields::priority::PriorityRule;
use crivello_common::fields::recrawl::{IntervalRule, WeightRule};
use crivello_common::url::CrawlUrl;
use crivello_expressions::Expression;
use std::fmt::Write as _;

/// Judges each URL. The exit code is 1 if a condition does not admit one.
///
/// # Errors
/// Fails if the expression or a URL is invalid.
pub fn run(args: &CheckExpressionArgs) -> Result<Exit, CliError> {
    let rule = Rule::of(args)?;
    let parent = args.parent.as_deref().map(parse).transpose()?;
    let (mut text, mut all_admitted) = (String::new(), true);
    for url in &args.urls {
        let url = parse(url)?;
        let (result, admitted) = match rule.judge(args, &url, parent.as_ref()) {
            Ok(judged) => judged,
            Err(problem) => (format!("failed    {url}  {problem}"), false),
        };
        all_admitted &= admitted;
        let _ = writeln!(text, "{result}");
    }
    screen::print_out(&text);
    Ok(if all_admitted { Exit::Finished } else { Exit::Disallowed })
}

/// The expression, by the setting that it is a value of.
enum Rule {
    Admit(Expression),
    Priority(PriorityRule),
    Keep(KeepRule),
    Weight(WeightRule),
    Interval(IntervalRule),
}

impl Rule {
    /// Compiles the expression for the setting that was named, or else for the first one that it fits.
    fn of(args: &CheckExpressionArgs) -> Result<Self, CliError> {
        let text = args.expression.as_str();
        if text.trim().is_empty() {
            return Err(usage!("the expression is empty"));
        }
        if let Some(setting) = args.setting {
            return Self::compile(setting, text).map_err(|problem| usage!("{problem}"));
        }
        let mut settings = ExpressionSetting::FIRST_FITS.iter();
        if let Some(rule) = settings.find_map(|setting| Self::compile(*setting, text).ok()) {
            return Ok(rule);
        }
        // The fields that it names tell which error helps.
        let meant = match text.contains("page.") {
            true => ExpressionSetting::Keep,
            false => ExpressionSetting::Admit,
        };
        Self::compile(meant, text).map_err(|problem| usage!("{problem}"))
    }

    fn compile(setting: ExpressionSetting, text: &str) -> Result<Self, String> {
        let rule = match setting {
            ExpressionSetting::Admit => compile_condition(text)?.map(Self::Admit),
            ExpressionSetting::Priority => PriorityRule::compile(text)?.map(Self::Priority),
            ExpressionSetting::Keep => KeepRule::compile(text)?.map(Self::Keep),
            ExpressionSetting::Weight => WeightRule::compile(text)?.map(Self::Weight),
            ExpressionSetting::Interval => Some(Self::Interval(IntervalRule::compile(text)?)),
        };
        rule.ok_or_else(|| "the expression is empty".to_owned())
    }

    /// Returns the line of a URL, and false if it is not admitted.
    ///
    /// # Errors
    /// The reason why the expression has no value for it.
    fn judge(
        &self,
        args: &CheckExpressionArgs,
        url: &CrawlUrl,
        parent: Option<&CrawlUrl>,
    ) -> Result<(String, bool), String> {
        let (link, page) = (link(args, url, parent), page(args, url));
        let line = match self {
            Self::Admit(condition) => {
                let admitted = condition.bool(&link).map_err(|error| error.to_string())?;
                let reason = condition.reason_for_false(&link);
                let line = match (admitted, reason) {
                    (true, _) => format!("admitted  {url}"),
                    (false, Some(reason)) => format!("refused   {url}  {reason}"),
                    (false, None) => format!("refused   {url}"),
                };
                return Ok((line, admitted));
            }
            Self::Priority(rule) => format!("{:<8}  {url}", rule.priority(&link)),
            Self::Keep(rule) => {
                let keep = rule.keep(&page).map_err(|error| error.to_string())?;
                let keep = keep.ok_or("it is none of \"archive\", \"parse\" and \"drop\"")?;
                format!("{:<8}  {url}", keep.name())
            }
            Self::Weight(rule) => {
                let weight = rule.weight(&page).ok_or("it has no finite value")?;
                format!("{weight:<8}  {url}")
            }
            Self::Interval(rule) => {
                let seconds = rule.seconds(&page).ok_or("it has no positive value")?;
                format!("{:<8}  {url}", format!("{seconds}s"))
            }
        };
        Ok((line, true))
    }
}

fn link<'a>(
    args: &'a CheckExpressionArgs,
    url: &'a CrawlUrl,
    parent: Option<&'a CrawlUrl>,
) -> LinkRecord<'a> {
    let Some(parent) = parent else {
        let (inlinks, host_rank, nofollow) = (args.inlinks, args.host_rank, args.nofollow);
        return LinkRecord { inlinks, host_rank, nofollow, ..LinkRecord::seed(url, 0, false) };
    };
    let parent = ParentRecord {
        url: parent,
        status: args.page.status,
        bytes: args.page.bytes,
        n_links: args.page.links,
        text_length: args.page.text_length,
        language: &args.page.language,
    };
    let depth = args.depth.saturating_add(1);
    LinkRecord {
        inlinks: args.inlinks,
        host_rank: args.host_rank,
        kind: &args.kind,
        nofollow: args.nofollow,
        parent: Some(parent),
        ..LinkRecord::seed(url, depth, false)
    }
}

fn page<'a>(args: &'a CheckExpressionArgs, url: &'a CrawlUrl) -> PageRecord<'a> {
    let page = &args.page;
    PageRecord {
        url,
        host_rank: args.host_rank,
        depth: args.depth,
        status: page.status,
        media: &page.media,
        bytes: page.bytes,
        is_truncated: page.truncated,
        is_near_duplicate: page.near_duplicate,
        charset: &page.charset,
        title: &page.title,
        n_links: page.links,
        noindex: page.noindex,
        noarchive: page.noarchive,
        nofollow: args.nofollow,
        text_length: page.text_length,
        language: &page.language,
    }
}

fn parse(text: &str) -> Result<CrawlUrl, CliError> {
    CrawlUrl::parse(text).map_err(|reason| usage!("{text}: not a URL ({})", reason.name()))
}
