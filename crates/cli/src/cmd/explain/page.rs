//! Figures as one page that opens anywhere.

use stagger_core::Span;
use stagger_explain::{Explanation, PlannedAttempt};
use stagger_text::percent;

use super::account::{Account, code, severity};
use super::words::{shown, words};

const STYLE: &str = include_str!("page.css");

/// A page without a network, a script or a font of its own.
pub(super) fn page(accounts: &[Account]) -> String {
    let names: Vec<_> = accounts.iter().map(|account| escaped(&account.name)).collect();
    let parts: String = accounts.iter().map(part).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{} · stagger explain</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         {parts}</main>\n</body>\n</html>\n",
        names.join(", ")
    )
}

fn part(account: &Account) -> String {
    let figures = &account.figures;
    let name = escaped(&account.name);
    let mut html = format!("<section>\n<h1>Policy {name}</h1>\n");
    html += &timeline("Time line", &figures.attempts);
    if let Some(throttled) = &figures.throttled {
        html += &timeline("After throttled attempts", throttled);
    }
    html += &load(figures);
    html += "<dl>\n";
    for (heading, sentence) in words(account) {
        html += &format!("<dt>{heading}</dt><dd>{}</dd>\n", escaped(&sentence));
    }
    html += "</dl>\n";
    html + &findings(account) + "</section>\n"
}

fn timeline(caption: &str, attempts: &[PlannedAttempt]) -> String {
    let most =
        |of: fn(&PlannedAttempt) -> Span| attempts.iter().map(of).max().unwrap_or(Span::ZERO);
    let full = (most(|it| it.longest), most(|it| it.cumulative_worst));
    let header = [
        "attempt",
        "ceiling",
        "mean",
        "p50",
        "p99",
        "delay",
        "earliest",
        "mean start",
        "latest",
        "start",
        "reached",
    ];
    let header: String =
        header.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let rows: String = attempts.iter().map(|attempt| row(attempt, full)).collect();
    framed(caption, &header, &rows)
}

/// A table in a frame that scrolls by key where the window is too narrow.
fn framed(caption: &str, header: &str, rows: &str) -> String {
    format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\"><table>\n\
         <caption>{caption}</caption>\n<thead><tr>{header}</tr></thead>\n<tbody>\n{rows}</tbody>\n\
         </table></div>\n"
    )
}

fn row(attempt: &PlannedAttempt, full: (Span, Span)) -> String {
    let first = attempt.attempt == 1;
    let delay = |span| if first { "–".to_owned() } else { shown(span) };
    let delays = match first {
        true => String::new(),
        false => bar(attempt.shortest, attempt.mean, attempt.longest, full.0),
    };
    let starts =
        bar(attempt.cumulative_best, attempt.cumulative_mean, attempt.cumulative_worst, full.1);
    let cells = [
        delay(attempt.ceiling),
        delay(attempt.mean),
        delay(attempt.p50),
        delay(attempt.p99),
        delays,
        shown(attempt.cumulative_best),
        shown(attempt.cumulative_mean),
        shown(attempt.cumulative_worst),
        starts,
        percent(attempt.reached),
    ];
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", attempt.attempt)
}

/// A range with its mean, as a picture that needs no words: the figures stand beside it.
fn bar(from: Span, mean: Span, to: Span, full: Span) -> String {
    if full.is_zero() {
        return String::new();
    }
    let at = |span: Span| 100.0 * span.as_secs_f64() / full.as_secs_f64();
    let (from, mean, to) = (at(from), at(mean), at(to));
    let (width, tick) = ((to - from).max(1.0), mean.min(99.0));
    format!(
        "<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"range\" x=\"{from:.1}\" y=\"3\" width=\"{width:.1}\" height=\"4\"/>\
         <rect class=\"mean\" x=\"{tick:.1}\" y=\"0\" width=\"1\" height=\"10\"/></svg>"
    )
}

fn load(figures: &Explanation) -> String {
    let row = |factor: &stagger_explain::LoadFactor| {
        format!(
            "<tr><th scope=\"row\">{} %</th><td>{:.2}</td><td>{:.2}</td></tr>\n",
            factor.failing_percent, factor.without_budget, factor.with_budget
        )
    };
    let rows: String = figures.load.iter().map(row).collect();
    let header = "<th scope=\"col\">failing</th><th scope=\"col\">without budget</th>\
                  <th scope=\"col\">with budget</th>";
    framed("Attempts a call", header, &rows)
}

fn findings(account: &Account) -> String {
    let all = &account.figures.findings;
    if all.is_empty() {
        return String::new();
    }
    let one = |finding| {
        format!(
            "<li class=\"{0}\"><strong>{0}: {1}</strong> {2}<br>Fix: {3}</li>\n",
            severity(finding),
            code(finding),
            escaped(&finding.message),
            escaped(&finding.fix)
        )
    };
    format!("<h2>Findings</h2>\n<ul>\n{}</ul>\n", all.iter().map(one).collect::<String>())
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}
