"use strict";
// The compare page's selections: loads the ratios of selected runs and fills the page's tables with them.
(() => {
  const { root, runs, symbols, none } = JSON.parse(document.getElementById("choice").textContent);
  const MINUS = "\u2212", SPACE = "\u202f";
  const MIRRORED = { regressed: "improved", improved: "regressed" };

  // --- runs -----------------------------------------------------------------------------------

  const requests = new Map(); // run → promise of its data
  const resolvers = new Map(); // run → function that resolves the promise

  window.shootout = { loaded(data) { resolvers.get(data.run)?.(decoded(data)); } };

  /** A run's cells and pairs, with names instead of indexes. */
  function decoded({ run, names, cells, others, tps }) {
    const named = ([workload, dataset, threads, server, base, runner, verdict, ratio, low, high]) => ({
      workload: names[workload], dataset: names[dataset], threads, server: names[server], base: names[base],
      runner: names[runner], verdict,
      ratio: ratio === undefined ? null : { ratio, low, high },
    });
    const of = new Map(tps.map(([workload, dataset, threads, server, value]) =>
      [key(names[workload], names[dataset], threads, names[server]), value]));
    const compared = cells.map(named);
    return { run, compared, pairs: [...compared, ...others.map(named)], tps: of };
  }

  function load(run) {
    if (!requests.has(run.run)) {
      requests.set(run.run, new Promise((resolve, reject) => {
        resolvers.set(run.run, resolve);
        const script = document.createElement("script");
        script.src = root + run.script;
        script.addEventListener("error", () => reject(new Error(`cannot load ${run.script}`)));
        document.head.append(script);
      }));
    }
    return requests.get(run.run);
  }

  const key = (...parts) => parts.join("\0");

  // --- numbers, formatted as on the generated pages -------------------------------------------

  const decimals = (halfWidth) => -Math.floor(Math.log10(halfWidth / 2));

  function number(value, places) {
    if (value === 0) return "0";
    const digits = places ?? Math.max(2 - Math.floor(Math.log10(Math.abs(value))), 0);
    const scale = 10 ** digits;
    const rounded = (Math.round(value * scale) / scale || 0).toFixed(Math.max(digits, 0));
    const [whole, part] = rounded.replace("-", MINUS).split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, SPACE);
    return part === undefined ? grouped : `${grouped}.${part}`;
  }

  const signed = (value, places) => (Math.round(value * 10 ** places) > 0 ? "+" : "") + number(value, places);

  const places = ({ low, high }) => (high > low ? Math.min(Math.max(decimals((high - low) * 50), 0), 2) : 0);

  const change = (interval) => `${signed((interval.ratio - 1) * 100, places(interval))}${SPACE}%`;

  function range(interval) {
    const digits = places(interval);
    return `${signed((interval.low - 1) * 100, digits)} to ${signed((interval.high - 1) * 100, digits)}${SPACE}%`;
  }

  /** The change of a ratio between two runs, with its interval; the same as `between` in history.py. */
  function between(then, now) {
    const [a, b] = [then, now].map(({ ratio, low, high }) => ({ at: Math.log(ratio), low: Math.log(low), high: Math.log(high) }));
    const down = Math.hypot(b.at - b.low, a.high - a.at), up = Math.hypot(b.high - b.at, a.at - a.low);
    return { ratio: Math.exp(b.at - a.at), low: Math.exp(b.at - a.at - down), high: Math.exp(b.at - a.at + up) };
  }

  // --- tables ---------------------------------------------------------------------------------

  function cell(tag, text, value) {
    const made = document.createElement(tag);
    if (value !== undefined) made.className = "num";
    if (value !== undefined && value !== null) made.dataset.value = value;
    made.append(text);
    return made;
  }

  const heading = (text) => Object.assign(cell("th", text), { scope: "row" });
  const figure = (value) => (value === undefined ? cell("td", none, null) : cell("td", number(value), value));

  function ratio(interval, bold) {
    if (!interval) return [cell("td", none, null), cell("td", none, null)];
    let text = change(interval);
    if (bold) (text = document.createElement("strong")).textContent = change(interval);
    return [cell("td", text, interval.ratio), cell("td", range(interval), interval.low)];
  }

  function badge(verdict) {
    const made = document.createElement("span"), symbol = document.createElement("span");
    made.className = `badge ${verdict}`;
    symbol.setAttribute("aria-hidden", "true");
    symbol.textContent = symbols[verdict];
    made.append(symbol, ` ${verdict}`);
    return cell("td", made);
  }

  function serverAndAnchor(server) {
    const made = cell("td", `${server.server} `), small = document.createElement("small");
    small.textContent = `to ${server.base}`;
    made.append(small);
    return made;
  }

  function fill(table, caption, rows) {
    for (const header of table.tHead.rows[0].cells) header.removeAttribute("aria-sort");
    table.caption.querySelector("span").textContent = caption;
    table.tBodies[0].replaceChildren(...rows.map((cells) => {
      const row = document.createElement("tr");
      row.append(...cells);
      return row;
    }));
    table.dispatchEvent(new Event("filled"));
  }

  function mirrored(pair) {
    const { ratio: interval, verdict } = pair;
    const turned = interval && { ratio: 1 / interval.ratio, low: 1 / interval.high, high: 1 / interval.low };
    return { ...pair, ratio: turned, verdict: MIRRORED[verdict] ?? verdict };
  }

  function showServers(data, run, base, head) {
    const found = data.pairs.flatMap((pair) => {
      if (pair.base === base && pair.server === head) return [pair];
      return pair.base === head && pair.server === base ? [mirrored(pair)] : [];
    });
    const tps = (pair, server) => data.tps.get(key(pair.workload, pair.dataset, pair.threads, server));
    const rows = found.map((pair) => [
      heading(pair.workload), cell("td", String(pair.threads), pair.threads), figure(tps(pair, base)),
      figure(tps(pair, head)), ...ratio(pair.ratio), badge(pair.verdict),
    ]);
    const note = rows.length ? "" : ": no block has both";
    fill(document.getElementById("of-servers"), `${head} against ${base}, ${run.name}${note}`, rows);
  }

  function showRuns(before, after, then, now) {
    const at = (each) => key(each.workload, each.dataset, each.threads, each.server, each.base, each.runner);
    const earlier = new Map(before.compared.filter((each) => each.ratio).map((each) => [at(each), each.ratio]));
    const rows = after.compared.filter((each) => each.ratio && earlier.has(at(each))).map((each) => {
      const old = earlier.get(at(each)), step = between(old, each.ratio);
      return [
        heading(each.workload), cell("td", String(each.threads), each.threads), serverAndAnchor(each),
        cell("td", change(old), old.ratio), cell("td", change(each.ratio), each.ratio.ratio),
        ...ratio(step, step.low > 1 || step.high < 1),
      ];
    });
    const note = rows.length ? ": ratios to the anchor" : ": no cell in common with the same anchor and runner";
    fill(document.getElementById("of-runs"), `Run of ${now.name} against that of ${then.name}${note}`, rows);
  }

  // --- selections -----------------------------------------------------------------------------

  function choice(form, label, options) {
    const made = document.createElement("label"), select = document.createElement("select");
    made.append(`${label} `, select);
    form.append(made);
    offer(select, options);
    return select;
  }

  function offer(select, options) {
    const before = select.value;
    select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    if (options.some(([value]) => value === before)) select.value = before;
  }

  const byId = (id) => runs.find(({ run }) => run === id);
  const offered = (some) => some.map(({ run, name }) => [run, name]);
  const unique = (values) => [...new Set(values)];
  const asOptions = (values) => values.map((value) => [value, value]);

  function remember(values) {
    history.replaceState(null, "", `#${new URLSearchParams(values)}`);
  }

  function failed(form) {
    return (error) => { form.append(` ${error.message}`); };
  }

  function chooseServers(form, wanted) {
    const run = choice(form, "Run", offered(runs.filter(({ servers }) => servers)));
    const base = choice(form, "First", []), head = choice(form, "Second", []);
    if (byId(wanted.get("run"))) run.value = wanted.get("run");
    const offerServers = (data) => {
      const servers = unique(data.pairs.flatMap((pair) => [pair.base, pair.server]));
      const initialised = base.options.length > 0;
      offer(base, asOptions(servers));
      offer(head, asOptions(servers));
      if (!initialised) [base.value, head.value] = [servers[0] ?? "", servers[1] ?? ""];
    };
    const show = (data) => showServers(data, byId(run.value), base.value, head.value);
    form.addEventListener("change", () => load(byId(run.value)).then((data) => {
      offerServers(data);
      show(data);
      remember({ run: run.value, first: base.value, second: head.value });
    }).catch(failed(form)));
    load(byId(run.value)).then((data) => {
      offerServers(data);
      if (!wanted.has("first")) return;
      [base.value, head.value] = [wanted.get("first"), wanted.get("second")];
      show(data);
    }).catch(failed(form));
  }

  function chooseRuns(form, wanted) {
    const now = choice(form, "Second", offered(runs)), then = choice(form, "First", []);
    form.append(then.parentElement, now.parentElement); // the second determines the options of the first
    const offerFirst = () => {
      const { runners } = byId(now.value);
      const shared = (run) => run.runners.some((runner) => runners.includes(runner));
      offer(then, offered(runs.filter((run) => shared(run) && run.run !== now.value)));
    };
    const show = () => {
      const [first, second] = [byId(then.value), byId(now.value)];
      if (!first) return fill(document.getElementById("of-runs"), "No other run on this runner", []);
      return Promise.all([load(first), load(second)])
        .then(([before, after]) => showRuns(before, after, first, second)).catch(failed(form));
    };
    if (byId(wanted.get("now"))) now.value = wanted.get("now");
    offerFirst();
    if (byId(wanted.get("then"))) { then.value = wanted.get("then"); show(); }
    form.addEventListener("change", () => {
      offerFirst();
      show();
      remember({ then: then.value, now: now.value });
    });
  }

  const choose = { servers: chooseServers, runs: chooseRuns };
  const wanted = new URLSearchParams(location.hash.slice(1));
  for (const form of document.querySelectorAll(".choose")) {
    form.hidden = false;
    choose[form.dataset.choose](form, wanted);
  }
})();
