// Keeps the page fresh. Everything works without it, by loading again.
(() => {
  'use strict';

  const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
  // The server's clock is the one that counts.
  const ahead = Number(document.body.dataset.now) - Date.now();
  const now = () => Date.now() + ahead;

  // Times, in the words of the server.

  const UNITS = [[DAY, 'd'], [HOUR, 'h'], [MINUTE, 'min'], [SECOND, 's']];

  const relative = (at) => {
    const away = at - now(), far = Math.abs(away);
    const unit = UNITS.find(([size]) => far >= size);
    if (!unit) return 'now';
    const said = Math.floor(far / unit[0]) + ' ' + unit[1];
    return away > 0 ? 'in ' + said : said + ' ago';
  };

  const tick = () => {
    for (const time of document.querySelectorAll('time')) {
      const said = relative(Date.parse(time.dateTime));
      if (time.textContent !== said) time.textContent = said;
    }
  };

  // The chart.

  const WHEN = 'last 5 minutes';
  const grouped = (n) => n < 1e4 ? String(n) : String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');
  const sum = (list) => list.reduce((all, n) => all + n, 0);
  const clock = (at) => new Date(at * SECOND).toISOString().slice(11, 19);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const utc = (at) => uPlot.tzDate(new Date(at * SECOND), 'Etc/UTC');

  const chart = (box) => {
    let plot, columns = {at: [], first: [], retries: []}, hovered = null;
    const outputs = Object.fromEntries([...box.closest('figure').querySelectorAll('[data-value]')]
      .map((output) => [output.dataset.value, output]));

    const both = () => columns.first.map((n, i) => n + columns.retries[i]);
    const data = () => [columns.at, both(), columns.first];

    const say = () => {
      const one = hovered !== null && hovered < columns.at.length;
      const of = (list) => grouped(one ? list[hovered] : sum(list));
      outputs.first.textContent = of(columns.first);
      outputs.retries.textContent = of(columns.retries);
      outputs.peak.textContent = grouped(Math.max(0, ...both()));
      outputs.when.textContent = one ? clock(columns.at[hovered]) + ' UTC' : WHEN;
    };

    const draw = () => {
      const bars = uPlot.paths.bars({size: [1, Infinity], align: 1});
      const axis = {stroke: css('--soft'), font: '12px system-ui, sans-serif', ticks: {show: false}};
      const series = (colour) => ({paths: bars, fill: colour, width: 0, points: {show: false}});
      plot?.destroy();
      box.replaceChildren();
      plot = new uPlot({
        width: box.clientWidth,
        height: box.clientHeight,
        padding: [8, 16, 0, 0],
        tzDate: utc,
        legend: {show: false},
        cursor: {y: false, points: {show: false}, drag: {x: false, y: false}},
        scales: {x: {range: (u, min, max) => [min, max + 1]}, y: {range: (u, min, max) => [0, Math.max(4, max * 1.05)]}},
        axes: [
          {...axis, grid: {show: false}, size: 28, space: 80, incrs: [30, 60, 120, 300], values: (u, ats) => ats.map((at) => clock(at).slice(0, at % 60 ? 8 : 5))},
          {...axis, grid: {stroke: css('--line'), width: 1}, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5], values: (u, ns) => ns.map(grouped)},
        ],
        series: [{}, series(css('--retries')), series(css('--first'))],
        hooks: {setCursor: [(u) => { hovered = u.cursor.idx ?? null; say(); }]},
      }, data(), box);
      // Not a picture for those who listen: the figures beside it say the same.
      plot.root.setAttribute('aria-hidden', 'true');
    };

    const load = async () => {
      if (document.hidden) return;
      const answer = await fetch(box.dataset.source, {headers: {'hx-request': 'true'}});
      if (!answer.ok) throw new Error(answer.status);
      columns = await answer.json();
      if (!columns.at.length) return;
      if (plot) plot.setData(data()); else draw();
      say();
    };

    const follow = async () => {
      try { await load(); say_link(false); } catch { say_link(true); }
      if (box.isConnected) setTimeout(follow, SECOND);
    };

    new ResizeObserver(() => {
      if (plot && box.clientWidth) plot.setSize({width: box.clientWidth, height: box.clientHeight});
    }).observe(box);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plot && draw());
    follow();
  };

  // A lost connection is said on top of the page, and what is shown is marked as old.
  let lost_at = null;
  const say_link = (is_lost) => {
    if (is_lost === (lost_at !== null)) return;
    lost_at = is_lost ? clock(now() / SECOND) : null;
    const link = document.getElementById('link');
    link.textContent = is_lost
      ? `No connection to the dispatcher since ${lost_at} UTC. The figures below are from then.` : '';
    link.hidden = !is_lost;
    document.body.classList.toggle('stale', is_lost);
  };

  // Forms ask before they do what is not easily undone, and are not sent twice.

  document.addEventListener('submit', (event) => {
    const form = event.target, question = form.dataset.confirm;
    if (question && !window.confirm(question)) { event.preventDefault(); return; }
    if (form.method === 'post') setTimeout(() => form.querySelectorAll('button').forEach((b) => { b.disabled = true; }));
  });
  // A page that the browser kept is shown again as it was left.
  window.addEventListener('pageshow', (event) => { if (event.persisted) window.location.reload(); });

  // What was said once is not said again on loading again.
  const here = new URL(window.location.href);
  if (here.searchParams.has('said')) {
    here.searchParams.delete('said');
    history.replaceState(history.state, '', here);
  }

  // No questions while nobody looks.
  document.addEventListener('htmx:before:request', (event) => {
    if (document.hidden && event.detail.ctx.sourceEvent?.type === 'every') event.preventDefault();
  });
  document.addEventListener('htmx:error', () => say_link(true));
  document.addEventListener('htmx:response:error', () => say_link(true));
  document.addEventListener('htmx:after:swap', () => { say_link(false); tick(); });
  document.addEventListener('visibilitychange', tick);
  setInterval(tick, SECOND);
  document.querySelectorAll('.plot').forEach(chart);
})();
