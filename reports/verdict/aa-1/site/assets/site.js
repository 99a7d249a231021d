"use strict";
// Draws the charts, makes tables sortable, switches the colour scheme. Pages are complete without it.
(() => {
  const root = document.documentElement;
  root.classList.add("js");

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
    const canvas = chart.querySelector(".canvas") ?? chart.appendChild(document.createElement("div"));
    canvas.className = "canvas";
    const config = { responsive: true, displayModeBar: false };
    return Plotly.react(canvas, coloured(data), coloured(whole), config)
      .then(() => { chart.dataset.drawn = isDark() ? "dark" : "light"; });
  }

  function drawAll() {
    for (const chart of document.querySelectorAll(".chart")) {
      if (typeof Plotly === "undefined") chart.textContent = "The charts' library is missing from assets/; the numbers are in the tables.";
      else draw(chart);
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

  // --- page -----------------------------------------------------------------------------------

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
    document.querySelectorAll("pre.command").forEach(addCopyButton);
    addSchemeSwitch();
    printInLight();
    drawAll();
  });
})();
