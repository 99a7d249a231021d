"use strict";
// Draws the charts, makes tables sortable and filterable, switches the colour scheme. Pages are complete without it.
(() => {
  const root = document.documentElement;

  const memory = {
    get scheme() { try { return localStorage.getItem("scheme"); } catch { return null; } },
    set scheme(value) { try { localStorage.setItem("scheme", value); } catch { /* private browsing: not kept */ } },
  };
  if (memory.scheme) root.dataset.scheme = memory.scheme;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.scheme ?? (systemDark.matches ? "dark" : "light")) === "dark";

  // --- charts ---------------------------------------------------------------------------------

  /** Computed colour of a role, `--series-1` or `--series-1/0.2`; light-dark() is resolved by the browser. */
  function colour(role) {
    const [name, opacity] = role.split("/");
    const probe = document.createElement("i");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const rgb = getComputedStyle(probe).color;
    probe.remove();
    return opacity ? rgb.replace("rgb(", "rgba(").replace(")", `, ${opacity})`) : rgb;
  }

  function coloured(value, key = "") {
    if (typeof value === "string") return /color$/.test(key) && value.startsWith("--") ? colour(value) : value;
    if (Array.isArray(value)) return value.map((item) => coloured(item));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, coloured(item, name)]));
  }

  function axis(own) {
    const shared = {
      automargin: true, fixedrange: !matchMedia("(hover: hover)").matches, gridcolor: "--line", linecolor: "--axis",
      tickcolor: "--axis", ticks: "outside", ticklen: 4, zeroline: false, showline: true,
    };
    return { ...shared, ...own, title: { standoff: 8, ...own?.title } };
  }

  function draw(chart) {
    const { data, layout } = JSON.parse(chart.querySelector("script").textContent);
    const style = getComputedStyle(chart);
    const whole = {
      ...layout,
      xaxis: axis(layout.xaxis),
      yaxis: { ...axis(layout.yaxis), showline: false, ticks: "" },
      font: { family: style.fontFamily, size: 12.5, color: "--ink-soft" },
      margin: { l: 48, r: 10, t: 10, b: 40 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      showlegend: false,
      hoverlabel: { bgcolor: "--surface", bordercolor: "--axis", font: { color: "--ink", size: 12.5 } },
    };
    const config = { responsive: true, displayModeBar: false };
    let canvas = chart.querySelector(".canvas");
    if (!canvas) {
      canvas = document.createElement("div");
      canvas.className = "canvas";
      chart.querySelector(".sketch").replaceWith(canvas); // which has shown the same until now
    }
    return Plotly.react(canvas, coloured(data), coloured(whole), config)
      .then(() => { chart.dataset.drawn = isDark() ? "dark" : "light"; });
  }

  const rest = () => new Promise((done) => { setTimeout(done); });

  /** One after the other, so that the page answers in between; a later call begins anew. */
  async function drawAll() {
    if (typeof Plotly === "undefined") return; // the pictures stay
    const turn = drawAll.turn = {};
    for (const chart of document.querySelectorAll(".chart")) {
      if (drawAll.turn !== turn) return;
      await draw(chart);
      await rest();
    }
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
      return isEmpty(x) - isEmpty(y) || sign * compare(x, y); // what has no figure stays last
    });
    table.tBodies[0].append(...rows);
  }

  function makeSortable(table) {
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      if ("unsorted" in header.dataset) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      button.addEventListener("click", () => sort(table, header, column));
      header.append(button);
    });
  }

  const FILTERED_MIN = 12; // rows; fewer are seen at a glance

  /** A box above the table, once it is long: rows that lack one of its words are hidden. */
  function addFilter(table) {
    const rows = () => [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => !row.matches(".group"));
    const line = document.createElement("label");
    const input = document.createElement("input");
    const count = document.createElement("output");
    line.className = "filter";
    input.type = "search";
    input.placeholder = "Filter rows";
    input.setAttribute("aria-label", `Filter: ${table.caption.textContent.trim()}`);
    const filter = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const all = rows();
      let shown = 0;
      for (const row of all) {
        row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
        shown += !row.hidden;
      }
      count.textContent = words.length ? `${shown} of ${all.length}` : "";
    };
    const offer = () => {
      if (!line.isConnected && rows().length >= FILTERED_MIN) placeAbove(table.closest(".scroll"), line);
      filter();
    };
    line.append(input, count);
    input.addEventListener("input", filter);
    table.addEventListener("filled", offer); // compare.js has put other rows in it
    offer();
  }

  /** Put something above a table; one of a pair keeps its column. */
  function placeAbove(scroll, line) {
    if (!scroll.parentElement.matches(".pair")) { scroll.before(line); return; }
    const column = document.createElement("div");
    scroll.replaceWith(column);
    column.append(line, scroll);
  }

  // --- page -----------------------------------------------------------------------------------

  /** A heading's text leads to itself, so that its address can be copied. */
  function addAnchor(heading) {
    const link = document.createElement("a");
    link.className = "anchor";
    link.href = `#${heading.id}`;
    link.append(...heading.childNodes);
    heading.append(link);
  }

  function addSchemeSwitch() {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "scheme";
    const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
    button.setAttribute("aria-label", "Switch between light and dark");
    button.addEventListener("click", () => {
      memory.scheme = root.dataset.scheme = isDark() ? "light" : "dark";
      label();
      drawAll();
    });
    systemDark.addEventListener("change", () => { label(); drawAll(); });
    label();
    document.querySelector("header.site nav").append(button);
  }

  function addCopyButton(command) {
    if (!navigator.clipboard) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(command.querySelector("code").textContent);
      button.textContent = "Copied";
    });
    command.append(button);
  }

  function printInLight() {
    let before;
    addEventListener("beforeprint", () => { before = root.dataset.scheme; root.dataset.scheme = "light"; drawAll(); });
    addEventListener("afterprint", () => {
      if (before) root.dataset.scheme = before; else delete root.dataset.scheme;
      drawAll();
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("table.sortable").forEach(makeSortable);
    document.querySelectorAll("table:is(.sortable, [data-filter])").forEach(addFilter);
    document.querySelectorAll(":is(h2, h3)[id]").forEach(addAnchor);
    document.querySelectorAll("pre.command").forEach(addCopyButton);
    addSchemeSwitch();
    printInLight();
    drawAll();
  });
})();
