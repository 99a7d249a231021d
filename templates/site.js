"use strict";
// Chart readouts, servers to pick, table sorting and filters, the colour scheme switch. Pages are complete without it.
(() => {
  const root = document.documentElement;

  const memory = {
    get scheme() { try { return localStorage.getItem("scheme"); } catch { return null; } },
    set scheme(value) { try { localStorage.setItem("scheme", value); } catch { /* private browsing: not stored */ } },
  };
  if (memory.scheme) root.dataset.scheme = memory.scheme;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.scheme ?? (systemDark.matches ? "dark" : "light")) === "dark";

  function newButton(text, onClick) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.addEventListener("click", onClick);
    return button;
  }

  /** A search box and, after it, room for what it found. */
  function searchLine(placeholder, label) {
    const [line, input, count] = ["label", "input", "output"].map((name) => document.createElement(name));
    line.className = "filter";
    input.type = "search";
    input.placeholder = placeholder;
    input.setAttribute("aria-label", label);
    line.append(input, count);
    return { line, input, count };
  }

  // --- charts ---------------------------------------------------------------------------------

  /** Show the values at the pointer or the focus of a chart. */
  function addReadout(chart) {
    const box = document.createElement("output");
    box.className = "readout";
    const stripeOf = ({ target }) => target.closest(".readouts rect");
    const show = (event) => {
      const stripe = stripeOf(event);
      if (!stripe) return;
      const title = stripe.querySelector("title");
      if (title) { // the browser would show it as a tooltip, too
        stripe.setAttribute("aria-label", title.textContent);
        title.remove();
      }
      box.textContent = stripe.getAttribute("aria-label");
      chart.append(box);
      const [outer, inner] = [chart.getBoundingClientRect(), stripe.getBoundingClientRect()];
      const onTheRight = inner.left - outer.left < outer.width / 2;
      box.style.left = onTheRight ? `${inner.right - outer.left + 8}px` : "";
      box.style.right = onTheRight ? "" : `${outer.right - inner.left + 8}px`;
    };
    const hide = () => box.remove();
    const move = (event) => {
      const stripe = stripeOf(event);
      const next = { ArrowRight: stripe?.nextElementSibling, ArrowLeft: stripe?.previousElementSibling }[event.key];
      if (event.key === "Escape") hide();
      if (!next) return;
      event.preventDefault();
      for (const [each, index] of [[stripe, -1], [next, 0]]) each.setAttribute("tabindex", index);
      next.setAttribute("role", "img");
      next.focus();
    };
    for (const [name, action] of Object.entries({
      pointerover: show, focusin: show, pointerleave: hide, focusout: hide, keydown: move,
    })) chart.addEventListener(name, action);
  }

  // --- servers to pick ------------------------------------------------------------------------

  const BANDS_MAX = 4; // servers with intervals; those of more would hide the lines

  /** Make legends pick and unpick servers in all charts of the page, and keep the choice in the address. */
  function addPicks(legends) {
    const names = [...new Set(legends.flatMap((legend) => [...legend.querySelectorAll("bdi")].map((name) => name.textContent)))];
    const chosen = () => {
      const given = new URLSearchParams(location.hash.slice(1)).get("servers")?.split(",") ?? [];
      const known = names.filter((name) => given.includes(name));
      return known.length ? known : names;
    };
    const draw = () => {
      const picked = chosen();
      for (const legend of legends) for (const item of legend.children) {
        item.firstChild.setAttribute("aria-pressed", picked.includes(item.querySelector("bdi").textContent));
      }
      const numbers = new Map(legends.flatMap((legend) => [...legend.children].map((item) => [item.dataset.series, item.querySelector("bdi").textContent])));
      for (const part of document.querySelectorAll(".chart [data-series]")) {
        const name = numbers.get(part.dataset.series);
        if (name && !part.closest(".panel")) part.classList.toggle("unpicked", !picked.includes(name));
      }
      for (const chart of document.querySelectorAll(".chart")) chart.classList.toggle("few", picked.length <= BANDS_MAX);
    };
    const pick = (name) => {
      const picked = chosen();
      const next = picked.length === names.length ? [name] // the first click is a choice of one
        : picked.includes(name) ? picked.filter((other) => other !== name) : [...picked, name];
      const all = next.length === 0 || next.length === names.length;
      history.replaceState(null, "", all ? location.pathname + location.search : `#servers=${next.map(encodeURIComponent).join(",")}`);
      draw();
    };
    for (const legend of legends) for (const item of legend.children) {
      const name = item.querySelector("bdi").textContent;
      const button = newButton("", () => pick(name));
      button.append(...item.childNodes);
      item.append(button);
      const show = (on) => () => document.querySelectorAll(`.chart [data-series="${item.dataset.series}"]`)
        .forEach((part) => part.classList.toggle("shown", on));
      for (const [event, on] of [["pointerenter", true], ["focusin", true], ["pointerleave", false], ["focusout", false]]) {
        item.addEventListener(event, show(on));
      }
    }
    addEventListener("hashchange", draw);
    draw();
  }

  // --- tables ---------------------------------------------------------------------------------

  function compare(a, b) {
    const [x, y] = [a, b].map((cell) => Number.parseFloat(cell.dataset.value));
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a.textContent.trim().localeCompare(b.textContent.trim(), "en", { numeric: true });
  }

  const isEmpty = (cell) => cell.classList.contains("num") && cell.dataset.value === undefined;

  function sort(table, header, column) {
    const sign = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => {
      const [x, y] = [a.cells[column], b.cells[column]];
      return isEmpty(x) - isEmpty(y) || sign * compare(x, y); // empty fields stay last
    });
    table.tBodies[0].append(...rows);
  }

  function makeSortable(table) {
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      if ("unsorted" in header.dataset) return;
      const button = newButton("", () => sort(table, header, column));
      button.append(...header.childNodes);
      header.append(button);
    });
  }

  const FILTERED_MIN = 12; // rows; shorter tables need no filter

  /** Add a filter box above a long table; it hides rows that lack any of the typed words. */
  function addFilter(table) {
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => !row.matches(".group"));
    if (rows.length < FILTERED_MIN) return;
    const { line, input, count } = searchLine("Filter rows", `Filter: ${table.caption.textContent.trim()}`);
    const filter = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let matching = 0;
      for (const row of rows) {
        row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
        matching += !row.hidden;
      }
      count.textContent = words.length ? `${matching} of ${rows.length}` : "";
    };
    input.addEventListener("input", filter);
    placeAbove(table.closest(".scroll"), line);
    filter();
  }

  /** Insert an element above a table; a table in a pair stays in its column. */
  function placeAbove(scroll, line) {
    if (!scroll.parentElement.matches(".pair")) { scroll.before(line); return; }
    const column = document.createElement("div");
    scroll.replaceWith(column);
    column.append(line, scroll);
  }

  // --- flame graphs -----------------------------------------------------------------------------

  /** Zoom into a frame by a click, out by a click on a caller; search by name. */
  function addFlameControls(graph) {
    const NAMED_MIN = 3; // percent of the graph, as in flame.py
    const part = (element, name) => Number.parseFloat(element.getAttribute(name));
    const frames = [...graph.querySelectorAll(":scope > svg")].map((element) => ({
      element, name: element.querySelector("text").textContent.toLowerCase(),
      left: part(element, "x"), width: part(element, "width"), top: part(element, "y"),
    }));
    const inside = (inner, outer) => // widths are rounded
      inner.left >= outer.left - 0.002 && inner.left + inner.width <= outer.left + outer.width + 0.002;
    const zoom = (to) => {
      for (const { element, ...frame } of frames) {
        const caller = frame.top < to.top && inside(to, frame);
        element.classList.toggle("dim", caller);
        element.style.display = caller || (frame.top >= to.top && inside(frame, to)) ? "" : "none";
        element.classList.toggle("narrow", !caller && 100 * frame.width < NAMED_MIN * to.width);
        element.setAttribute("x", caller ? "0%" : `${100 * (frame.left - to.left) / to.width}%`);
        element.setAttribute("width", caller ? "100%" : `${100 * frame.width / to.width}%`);
      }
    };
    graph.addEventListener("click", ({ target }) => {
      const clicked = frames.find(({ element }) => element === target.closest(".flame > svg"));
      if (clicked) zoom(clicked);
    });
    const { line, input, count } = searchLine("Find a function", "Find a function in the flame graph");
    const whole = newButton("Whole graph", () => zoom(frames[0]));
    input.addEventListener("input", () => {
      const word = input.value.trim().toLowerCase();
      const found = frames.filter(({ element, name }) => {
        const matches = word !== "" && name.includes(word);
        element.classList.toggle("found", matches);
        return matches;
      });
      const outermost = found.filter((each) => !found.some((other) => other.top < each.top && inside(each, other)));
      const share = outermost.reduce((sum, { width }) => sum + width, 0);
      count.textContent = word ? `${found.length} ${found.length === 1 ? "frame" : "frames"}, ${share.toFixed(1)}\u202f% of CPU time` : "";
    });
    line.append(whole);
    graph.closest("figure").before(line);
  }

  // --- page -----------------------------------------------------------------------------------

  /** Make a heading's text a link to itself, so that its address can be copied. */
  function addAnchor(heading) {
    const link = document.createElement("a");
    link.className = "anchor";
    link.href = `#${heading.id}`;
    link.append(...heading.childNodes);
    heading.append(link);
  }

  function addSchemeSwitch() {
    const button = newButton("", () => {
      memory.scheme = root.dataset.scheme = isDark() ? "light" : "dark";
      label();
    });
    const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
    button.className = "scheme";
    button.setAttribute("aria-label", "Switch between light and dark");
    systemDark.addEventListener("change", label);
    label();
    const header = document.querySelector("header.site");
    (header.querySelector("nav") ?? header).append(button); // a page of one file has no links to others
  }

  function addCopyButton(command) {
    if (!navigator.clipboard) return;
    const button = newButton("Copy", async () => {
      await navigator.clipboard.writeText(command.querySelector("code").textContent);
      button.textContent = "Copied";
    });
    command.append(button);
  }

  function printInLight() {
    let before;
    addEventListener("beforeprint", () => { before = root.dataset.scheme; root.dataset.scheme = "light"; });
    addEventListener("afterprint", () => {
      if (before) root.dataset.scheme = before; else delete root.dataset.scheme;
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("table.sortable").forEach(makeSortable);
    document.querySelectorAll("table:is(.sortable, [data-filter])").forEach(addFilter);
    document.querySelectorAll(":is(h2, h3)[id]").forEach(addAnchor);
    document.querySelectorAll("pre.command").forEach(addCopyButton);
    addSchemeSwitch();
    document.querySelectorAll(".chart").forEach(addReadout);
    const legends = [...document.querySelectorAll(".legend.picks")];
    if (legends.length) addPicks(legends);
    document.querySelectorAll(".flame").forEach(addFlameControls);
    printInLight();
  });
})();
