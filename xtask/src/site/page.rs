//! A page: Markdown to HTML, with a name for each heading and links as the site has them.

use std::collections::BTreeMap;
use std::path::Path;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::links::LinkTarget;

/// A page of the site.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) html: String,
    /// The names of its headings.
    pub(super) headings: Vec<String>,
    /// The links in the text, and where they lead.
    pub(super) links: Vec<(String, LinkTarget)>,
}

impl Page {
    /// The page of this text, which is at `path` below docs/.
    pub(super) fn of(root: &Path, path: &str, text: &str) -> Self {
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        let mut events: Vec<Event<'_>> = Parser::new_ext(text, options).collect();
        let headings = name_headings(&mut events);
        let mut links = Vec::new();
        for event in &mut events {
            let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event
            else {
                continue;
            };
            let target = LinkTarget::of(root, path, dest_url);
            let href = target.href(dest_url);
            links.push((dest_url.to_string(), target));
            *dest_url = CowStr::from(href);
        }
        let mut html = String::new();
        html::push_html(&mut html, events.into_iter());
        // A wide table scrolls by itself; the page does not.
        let html = html
            .replace("<table>", "<div class=\"wide\"><table>")
            .replace("</table>", "</table></div>");
        Self { html, headings, links }
    }
}

/// Gives each heading a name to link to, and returns the names.
fn name_headings(events: &mut [Event<'_>]) -> Vec<String> {
    let mut names = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for start in 0..events.len() {
        if !matches!(events[start], Event::Start(Tag::Heading { .. })) {
            continue;
        }
        let inside = events[start + 1..].iter();
        let inside = inside.take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
        let text: String = inside.filter_map(words).collect();
        let mut name = slug(&text);
        let count = seen.entry(name.clone()).or_default();
        if *count > 0 {
            name = format!("{name}-{count}");
        }
        *count += 1;
        if let Event::Start(Tag::Heading { id, .. }) = &mut events[start] {
            *id = Some(CowStr::from(name.clone()));
        }
        names.push(name);
    }
    names
}

fn words<'a>(event: &'a Event<'_>) -> Option<&'a str> {
    match event {
        Event::Text(text) | Event::Code(text) => Some(text),
        _ => None,
    }
}

/// The name of a heading, as GitHub and mdBook make it.
fn slug(text: &str) -> String {
    let kept = text.trim().chars().filter_map(|c| match c {
        ' ' | '-' => Some('-'),
        '_' => Some('_'),
        c => c.is_alphanumeric().then_some(c),
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Page {
        Page::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), "lint.md", text)
    }

    #[test]
    fn headings_have_names_of_their_own() {
        let page = page("# What `lint` finds, and why\n\n## Exit\n\n## Exit\n");
        assert_eq!(page.headings, ["what-lint-finds-and-why", "exit", "exit-1"]);
        assert!(page.html.contains("<h2 id=\"exit-1\">Exit</h2>"), "{}", page.html);
    }

    #[test]
    fn code_keeps_its_text() {
        let code = "# a <b> & \"c\" [d](policy.md)\n    indented\n";
        let page = page(&format!("```sh\n{code}```\n"));
        let shown = page.html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
        assert!(shown.replace("&amp;", "&").contains(code), "{}", page.html);
        assert!(page.links.is_empty());
    }

    #[test]
    fn links_and_tables_are_those_of_the_site() {
        let page = page("| a |\n| --- |\n| [b](policy.md) |\n");
        assert!(page.html.contains("<div class=\"wide\"><table>"), "{}", page.html);
        assert!(page.html.contains("<a href=\"policy.html\">b</a>"), "{}", page.html);
    }
}
