//! `crivello index codes`: sizes of lists under each code.

use crate::args::index::IndexCodesArgs;
use crate::exit::{CliError, Exit};
use crate::format::table;
use crate::{screen, signals};
use crivello_search::{CodeSizes, INDEX_DIR, Searcher};
use serde_json::json;

/// Terms between two progress lines.
const PROGRESS_TERMS: u64 = 1 << 16;

pub fn run(args: &IndexCodesArgs) -> Result<Exit, CliError> {
    let searcher = Searcher::open(&args.out.join(INDEX_DIR)).map_err(CliError::usage)?;
    let n_terms = searcher.stats().terms;
    let stop = signals::listen(screen::restore)?;
    let mut progress = |n: u64| {
        if n.is_multiple_of(PROGRESS_TERMS) {
            screen::show_line(&format!("{n} of {n_terms} terms"));
        }
    };
    let sizes = searcher.code_sizes(&mut progress, &|| stop.is_cancelled());
    screen::restore();
    let sizes = sizes.map_err(CliError::usage)?;
    if stop.is_cancelled() {
        return Ok(Exit::Stopped);
    }
    screen::print_out(&if args.json { to_json(&sizes) } else { to_text(&sizes) });
    Ok(Exit::Finished)
}

fn to_json(sizes: &[CodeSizes]) -> String {
    let part = |part: &CodeSizes| {
        let codes: serde_json::Map<_, _> =
            part.codes.iter().map(|(name, bits)| (name.clone(), json!(bits))).collect();
        json!({
            "part": part.part,
            "values": part.values,
            "mean": part.mean,
            "entropy": part.entropy,
            "bits": codes,
            "code": part.used,
        })
    };
    format!("{}\n", json!(sizes.iter().map(part).collect::<Vec<_>>()))
}

/// Returns a table with a row for each code, in bits a value.
fn to_text(sizes: &[CodeSizes]) -> String {
    let mut rows = vec![vec!["bits a value".to_owned()]];
    rows[0].extend(sizes.iter().map(|part| part.part.to_owned()));
    let row = |name: &str, cell: &dyn Fn(&CodeSizes) -> String| {
        std::iter::once(name.to_owned()).chain(sizes.iter().map(cell)).collect::<Vec<_>>()
    };
    rows.push(row("values", &|part| part.values.to_string()));
    rows.push(row("mean", &|part| format!("{:.2}", part.mean)));
    rows.push(row("entropy", &|part| format!("{:.3}", part.entropy)));
    let n_codes = sizes.first().map_or(0, |part| part.codes.len());
    for at in 0..n_codes {
        let name = &sizes[0].codes[at].0;
        rows.push(row(name, &|part| {
            let (name, bits) = &part.codes[at];
            let mark = if name == part.used { " *" } else { "" };
            bits.map_or_else(|| "-".to_owned(), |bits| format!("{bits:.3}{mark}"))
        }));
    }
    format!("{}* code of the index\n", table(&rows))
}
