//! Pages and pictures of whole reports: equal bytes, harmless names, and nothing missing.

use stagger_core::{Instant, Span};
use stagger_report::{
    GridPanel, Healed, HeatGrid, PageOptions, Picture, arrivals, heat, page, pictures, strips,
};
use stagger_sim::{
    ArrivalProcess, Healing, Law, Named, Play, RunPlan, Scenario, ScenarioCase, ScenarioEntry,
    Schedule, Stat, StormReport, ThreadPool,
};

fn played(name: &str, options: &stagger_sim::StormOptions) -> StormReport {
    let named = Named::find(name).expect("it ships");
    named.scenario(options).expect("the options are valid").run(&ThreadPool::single())
}

fn lockstep() -> StormReport {
    let up_at = Some(Span::from_millis(200));
    let laws = vec![Law::None, Law::Full];
    played(
        "lockstep",
        &stagger_sim::StormOptions { runs: Some(3), up_at, laws, ..Default::default() },
    )
}

fn empty() -> StormReport {
    StormReport { cases: Vec::new(), ..lockstep() }
}

#[test]
fn equal_reports_give_equal_bytes() {
    let (one, other) = (lockstep(), lockstep());
    assert_eq!(page(&one, &PageOptions::default()), page(&other, &PageOptions::default()));
    for (one, other) in pictures(&one, None).iter().zip(&pictures(&other, None)) {
        assert_eq!(one.to_svg(), other.to_svg());
        #[cfg(feature = "png")]
        assert_eq!(one.to_png().expect("it fits"), other.to_png().expect("it fits"));
        assert_eq!(one.to_terminal(80), other.to_terminal(80));
    }
}

#[test]
fn a_page_has_the_answer_first_then_pictures_then_figures_then_the_command() {
    let html = page(&lockstep(), &PageOptions::default());
    let parts = [
        "id=\"answer\">The answer",
        "lowest peak",
        "id=\"pictures\"",
        "<figure>",
        "id=\"figures\"",
        "<table>",
        "id=\"again\"",
        "stagger storm lockstep --seed 1 --runs 3",
        "</html>",
    ];
    let places: Vec<_> = parts.iter().map(|part| html.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let html = page(&lockstep(), &PageOptions::default());
    for foreign in
        ["<script", "<link", "<img", "<iframe", "http://", "https://", "url(", "style=\""]
    {
        assert!(!html.contains(foreign), "{foreign}");
    }
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn a_name_full_of_markup_stays_text() {
    let mut report = lockstep();
    let name = "<script>alert(\"1\")</script> & 'x'";
    report.cases[0].rows[2].name = name.into();
    name.clone_into(&mut report.cases[0].label);
    name.clone_into(&mut report.about);
    report.parameters.push((name.into(), name.into()));
    let options = PageOptions { command: Some(name.into()), ..PageOptions::default() };
    let html = page(&report, &options);
    assert!(!html.contains("<script"));
    assert!(html.contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;"));
    for picture in pictures(&report, None) {
        assert!(!picture.to_svg().contains("<script"));
        assert!(picture.name.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c)));
    }
}

#[test]
fn a_report_of_nothing_is_a_page_that_says_so() {
    let html = page(&empty(), &PageOptions::default());
    assert!(html.contains("Nothing was played"));
    assert!(html.contains("nothing to draw"));
    assert_eq!(pictures(&empty(), None), []);
}

#[test]
fn one_row_of_nobody_who_retries_is_no_comparison() {
    let mut report = lockstep();
    report.cases[0].rows.truncate(1);
    let html = page(&report, &PageOptions::default());
    assert!(html.contains("No row retries here"));
    assert!(!pictures(&report, None).is_empty());
}

#[test]
fn who_never_recovers_is_told_and_drawn_above_all_values() {
    let runs = Some(1);
    let report = played("stall", &stagger_sim::StormOptions { runs, ..Default::default() });
    let html = page(&report, &PageOptions::default());
    assert!(html.contains("never recover"));
    let recovery = pictures(&report, None).into_iter().find(|picture| picture.name == "recovery");
    let recovery = recovery.expect("the loads differ");
    assert!(recovery.chart.panels[0].y.never);
    assert!(recovery.to_svg().contains(">never</text>"));
    assert!(recovery.to_terminal(80).contains("never │"));
    assert!(recovery.to_svg().contains("capacity / attempts = 250"));
    let queue =
        pictures(&report, None).into_iter().any(|picture| picture.name.starts_with("queue"));
    assert!(queue);
}

#[test]
fn failing_attempts_are_drawn_as_success_above_load() {
    let runs = Some(1);
    let report = played("failing", &stagger_sim::StormOptions { runs, ..Default::default() });
    let all = pictures(&report, None);
    let failures =
        all.iter().find(|picture| picture.name == "failures").expect("it varies failures");
    assert_eq!(failures.chart.panels.len(), 2);
    assert_eq!(failures.chart.panels[1].references[0].at, 1.1);
    assert!(!all.iter().any(|picture| picture.name == "recovery"));
}

#[test]
fn a_heat_map_tells_stuck_from_healed_without_colour() {
    let cell = |healed| Some(Healed { healed, runs: 10 });
    let grid = HeatGrid {
        x: "outage [s]".into(),
        xs: vec!["0.5".into(), "1".into()],
        y: "load [1/s]".into(),
        ys: vec!["300".into(), "700".into()],
        seed: 1,
        runs: 10,
        panels: vec![GridPanel {
            name: "full".into(),
            case: String::new(),
            cells: vec![cell(10), cell(4), cell(0), None],
        }],
        ..HeatGrid::default()
    };
    let picture = Picture::new("heat", heat(&grid).expect("there are cells"));
    let text = picture.to_terminal(80);
    assert!(text.contains("700 │ ××"), "{text}");
    assert!(text.contains("300 │ ██ ░░"), "{text}");
    assert!(picture.to_svg().contains(">40 %</text>"));
    let options = PageOptions { grid: Some(grid), ..PageOptions::default() };
    assert!(page(&empty(), &options).contains("Recovered or not, over outage and load"));
    assert_eq!(heat(&HeatGrid::default()), None);
}

/// A report of so many cases, each as large as any: equal figures, other names.
fn many(cases: usize) -> StormReport {
    let mut report = lockstep();
    let [case] = &report.cases[..] else { panic!("one case") };
    let case = |nth: usize| {
        let mut case = case.clone();
        case.label = format!("case {nth}");
        case
    };
    report.cases = (0..cases).map(case).collect();
    report.varied = None;
    report
}

#[test]
fn a_page_of_a_hundred_cases_stays_small_and_says_what_it_leaves_out() {
    let length = |cases| page(&many(cases), &PageOptions::default()).len();
    let (eight, hundred) = (length(8), length(100));
    assert!(hundred < eight + 2_000, "{eight} and {hundred}");
    assert!(hundred < 2_000_000, "{hundred}");
    let html = page(&many(100), &PageOptions::default());
    assert!(html.contains("shows 8 of the 100 cases") && html.contains("--format csv"));
    assert!(!page(&many(8), &PageOptions::default()).contains("--format csv"));
    for (case, there) in [("case 0", true), ("case 50", true), ("case 99", true), ("case 1", false)]
    {
        assert_eq!(html.contains(&format!("<caption>{case}</caption>")), there, "{case}");
    }
    assert_eq!(pictures(&many(100), None).len(), 2 * 8);
}

fn small_grid() -> HeatGrid {
    let cell = |healed| Some(Healed { healed, runs: 10 });
    let panel = |name: &str, case: &str| GridPanel {
        name: name.into(),
        case: case.into(),
        cells: vec![cell(10), cell(0)],
    };
    HeatGrid {
        x: "outage".into(),
        xs: vec!["1s".into(), "2s".into()],
        ys: vec![String::new()],
        panels: vec![panel("full", "load 300/s"), panel("full", "load 500/s")],
        ..HeatGrid::default()
    }
}

#[test]
fn page_and_files_have_their_pictures_in_the_order_of_the_six() {
    let mut report =
        played("stall", &stagger_sim::StormOptions { runs: Some(1), ..Default::default() });
    for case in &mut report.cases {
        case.rows.truncate(3);
    }
    let all = pictures(&report, Some(&small_grid()));
    let names: Vec<&str> =
        all.iter().map(|picture| picture.name.split('-').next().unwrap_or_default()).collect();
    let of_case = ["instants", "arrivals", "queue"];
    let expected = ["instants", "arrivals", "recovery", "heat", "queue"];
    assert_eq!(names, [&expected[..], &of_case, &of_case, &of_case].concat());
    let options = PageOptions { grid: Some(small_grid()), ..PageOptions::default() };
    let html = page(&report, &options);
    let titles: Vec<&str> = html.split("<figure>\n<h3>").skip(1).collect();
    assert_eq!(titles.len(), all.len());
    for (picture, title) in all.iter().zip(titles) {
        let escaped = picture.chart.title.replace('&', "&amp;");
        assert!(title.starts_with(&escaped), "{escaped}");
    }
}

#[test]
fn a_heat_map_bounds_its_panels_and_names_the_case_of_each() {
    let mut grid = small_grid();
    let chart = heat(&grid).expect("there are cells");
    assert_eq!(chart.panels[1].title, "full, load 500/s");
    assert_eq!(chart.panels[0].style, chart.panels[1].style);
    let panel = grid.panels[0].clone();
    grid.panels = vec![panel; 100];
    let chart = heat(&grid).expect("there are cells");
    assert_eq!(chart.panels.len(), 24);
    assert!(chart.caption.contains("76 more panels are left out"), "{}", chart.caption);
    let options = PageOptions { grid: Some(small_grid()), ..PageOptions::default() };
    let html = page(&empty(), &options);
    assert!(html.contains("Recovered or not, over outage"));
}

#[test]
fn no_line_in_a_terminal_is_wider_than_asked_and_none_has_colour() {
    for picture in pictures(&lockstep(), None) {
        let text = picture.to_terminal(60);
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert!(!text.contains('\u{1b}'));
    }
}

#[cfg(feature = "png")]
#[test]
fn a_png_is_two_pixels_a_point() {
    let picture = pictures(&lockstep(), None).remove(0);
    let png = picture.to_png().expect("it fits");
    assert_eq!(png[1..4], *b"PNG");
    let width = u32::from_be_bytes([png[16], png[17], png[18], png[19]]);
    assert_eq!(width, 2 * (800 + 40));
}

/// Changed on purpose? `STAGGER_UPDATE=1 cargo test -p stagger-report` writes it again; look at it.
#[test]
fn a_small_picture_is_drawn_as_it_was() {
    let mut report = lockstep();
    report.cases[0].rows.truncate(2);
    let picture = pictures(&report, None).remove(1);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/arrivals.svg");
    if std::env::var_os("STAGGER_UPDATE").is_some() {
        std::fs::write(path, picture.to_svg()).expect("the folder is there");
    }
    assert_eq!(picture.to_svg(), std::fs::read_to_string(path).expect("it is there"));
}

#[test]
fn a_panel_had_another_peak_than_the_table() {
    // All 2000 callers fail at the origin, and the table looks for the peak after the outage.
    let report = played(
        "herd",
        &stagger_sim::StormOptions {
            runs: Some(2),
            laws: vec![Law::Full],
            callers: Some(2_000),
            ..Default::default()
        },
    );
    let case = &report.cases[0];
    let html = page(&report, &PageOptions::default());
    let chart = arrivals(&report, case).expect("there are attempts");
    for (row, panel) in case.rows.iter().zip(&chart.panels) {
        let peak = panel.note.trim_start_matches("peak ").trim_end_matches("/s");
        assert!(row.peak.mean < 40_000.0, "the burst at the origin is no peak: {peak}");
        assert!(html.contains(&format!("<td>{peak}")), "{}", panel.note);
    }
}

#[test]
fn peaks_were_the_same_because_single_runs_vary() {
    let mut report = lockstep();
    for (row, mean) in report.cases[0].rows[1..].iter_mut().zip([1_000.0, 1_200.0]) {
        (row.runs, row.peak) = (100, Stat { mean, sd: 300.0 });
    }
    let html = page(&report, &PageOptions::default());
    assert!(!html.contains("have about the same peak"));
    report.cases[0].rows[2].peak.mean = 1_015.0;
    assert!(page(&report, &PageOptions::default()).contains("have about the same peak"));
}

#[test]
fn all_who_retry_served_100_percent_beside_a_row_of_less() {
    let mut report = lockstep();
    report.cases[0].rows[1].success = 1.0;
    report.cases[0].rows[2].success = 0.9986;
    let html = page(&report, &PageOptions::default());
    assert!(html.contains("All who retry serve 99.9\u{a0}% to 100\u{a0}% of their calls."));
}

#[test]
fn all_was_well_again_although_hardly_a_call_succeeded() {
    let mut report = lockstep();
    let soon = Healing { healed: 3, seconds: Stat { mean: 0.11, sd: 0.0 }, ..Healing::default() };
    report.cases[0].rows[0].recovery = soon;
    for (success, said) in [(0.001, false), (0.99, true)] {
        report.cases[0].rows[0].success = success;
        let html = page(&report, &PageOptions::default());
        assert_eq!(html.contains("and all is well again after"), said, "{success}");
    }
}

#[test]
fn an_entry_that_gave_up_first_was_called_done_first() {
    let mut report = lockstep();
    let took = |mean| Healing { healed: 3, seconds: Stat { mean, sd: 0.0 }, ..Healing::default() };
    report.cases[0].rows[1].recovery = took(1.0);
    report.cases[0].rows[2].recovery = took(9.0);
    for (success, said) in [(0.017, false), (0.99, true)] {
        report.cases[0].rows[1].success = success;
        let html = page(&report, &PageOptions::default());
        assert_eq!(html.contains("is done first"), said, "{success}");
    }
}

#[test]
fn an_entry_that_fails_again_was_said_to_recover() {
    let mut report = lockstep();
    report.cases[0].rows[1].recovery = Healing { relapsed: 3, ..Healing::default() };
    let html = page(&report, &PageOptions::default());
    assert!(html.contains("seems to recover and then fails again"));
    assert!(html.contains("<td>relapsed</td>"));
}

/// The width of the first table of a page in pixels, by the widest cell of each column: digits take
/// 0.6 of the font's size, a head breaks at its blanks, and a deviation has a line of its own.
fn width(html: &str) -> f64 {
    const DIGIT: f64 = 14.0 * 0.6;
    const PADDING: f64 = 12.0;
    let table = html.split("<table>").nth(1).and_then(|rest| rest.split("</table>").next());
    let table = table.expect("there is a table");
    let mut widest: Vec<usize> = Vec::new();
    for row in table.split("<tr>").skip(1) {
        for (column, cell) in row.split("</t").filter(|cell| cell.contains("<t")).enumerate() {
            let breaks = cell.contains("scope=\"col\"");
            let cell = cell.replace("<small>", "\n");
            let text: String = cell
                .split('<')
                .map(|part| part.split_once('>').map_or(part, |(_, text)| text))
                .collect();
            let lines = text.split(|c| c == '\n' || (breaks && c == ' '));
            let longest = lines.map(|line| line.chars().count()).max().unwrap_or(0);
            if column >= widest.len() {
                widest.push(0);
            }
            widest[column] = widest[column].max(longest);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "some characters")]
    widest.iter().map(|&longest| longest as f64 * DIGIT + PADDING).sum()
}

#[test]
fn a_table_of_figures_was_cut_at_1280_pixels() {
    let report =
        played("stall", &stagger_sim::StormOptions { runs: Some(2), ..Default::default() });
    let html = page(&report, &PageOptions::default());
    // The box of a table is wider than the text: 76 rem, or the window without its margins.
    assert!(html.contains("width:min(76rem,100vw - 2rem)"));
    assert!(html.contains("td small{display:block"));
    let width = width(&html);
    assert!((600.0..=76.0 * 16.0).contains(&width), "{width}");
}

#[test]
fn an_entry_whose_calls_ended_too_soon_was_never_to_recover() {
    let runs = Some(1);
    let mut report = played("stall", &stagger_sim::StormOptions { runs, ..Default::default() });
    for row in report.cases.iter_mut().flat_map(|case| &mut case.rows) {
        if row.recovery.healed == 0 {
            row.recovery.not_within_watch = 1;
        }
    }
    let html = page(&report, &PageOptions::default());
    assert!(html.contains("<td>not within the watch</td>"));
    assert!(!html.contains("<td>never</td>") && !html.contains("never recover"));
}

/// Two rows: 1000 and 4000 attempts a second, within a window of a few seconds and far beyond it.
fn long_run() -> StormReport {
    let at = |seconds| Instant::ORIGIN + Span::from_secs(seconds);
    let caller = Law::NoRetry.caller(&Schedule::default()).expect("a valid schedule");
    let entry = |(name, rate): (&str, u32)| {
        let plan = RunPlan::new(ArrivalProcess::poisson(rate, at(100)), caller.clone());
        ScenarioEntry { name: name.into(), play: Play::Run(Box::new(plan)) }
    };
    let entries = [("no-retry", 1_000), ("four times", 4_000)].map(entry).to_vec();
    let case = ScenarioCase {
        outages: vec![(at(10), at(12))],
        ..ScenarioCase::new("a long run", 0.0, entries)
    };
    Scenario { cases: vec![case], ..Scenario::default() }.run(&ThreadPool::single())
}

#[test]
fn a_strip_had_half_the_dots_that_its_attempts_deserve() {
    let report = long_run();
    let chart = strips(&report, &report.cases[0]).expect("there are attempts");
    let dots = |panel: usize| chart.panels[panel].series[0].points.len();
    let (one, four) = (dots(0), dots(1));
    assert!(four > 300, "{four}");
    assert!((35..=45).contains(&(10 * four / one)), "{one} and {four} dots");
}
