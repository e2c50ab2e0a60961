// Sorting and filtering; without it a page of usual size is complete, only not sortable.
"use strict";

function key(row, column) {
  const cell = row.cells[column];
  if (!cell) return null;
  if (cell.classList.contains("n")) return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
  return cell.textContent.trim() || null;
}

function compare(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en");
}

function sort(table, column, direction) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  rows.forEach((row, index) => { if (row.dataset.order === undefined) row.dataset.order = index; });
  const order = row => Number(row.dataset.order);
  rows.sort((a, b) => {
    if (direction === "none") return order(a) - order(b);
    const x = key(a, column), y = key(b, column);
    if (x === null || y === null) return (x === null) - (y === null) || order(a) - order(b);
    const sign = direction === "ascending" ? 1 : -1;
    return sign * compare(x, y) || order(a) - order(b);
  });
  body.append(...rows);
}

function sortable(table) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    const cycle = head.classList.contains("n") ? ["none", "descending", "ascending"] : ["none", "ascending", "descending"];
    button.addEventListener("click", () => {
      const next = cycle[(cycle.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
      heads.forEach(other => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", next);
      sort(table, column, next);
    });
  });
}

function filterable(form) {
  const rows = Array.from(form.parentElement.querySelectorAll("tbody tr"));
  const words = form.querySelector("input"), status = form.querySelector("select"), output = form.querySelector("output");
  const texts = new Map();
  const text = row => {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  };
  const apply = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach(row => {
      const fits = wanted.every(word => text(row).includes(word)) && (!status || !status.value || row.dataset.status === status.value);
      row.hidden = !fits;
      shown += fits;
    });
    output.textContent = `${shown} of ${rows.length} rows`;
  };
  form.hidden = false;
  form.addEventListener("submit", event => event.preventDefault());
  ["input", "change"].forEach(kind => form.addEventListener(kind, apply));
  const open = form.querySelector(".open-all");
  if (open) open.addEventListener("click", () => {
    const opened = open.getAttribute("aria-pressed") !== "true";
    open.setAttribute("aria-pressed", String(opened));
    form.parentElement.querySelectorAll("details").forEach(part => { part.open = opened; });
  });
}

function enliven(part) {
  part.querySelectorAll("table.sortable").forEach(sortable);
  part.querySelectorAll("form.filter").forEach(filterable);
}

function unpacked(part) {
  const bytes = Uint8Array.from(atob(part.textContent), letter => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

// All parts go into the page at once: one after another, each would cost a layout of its own.
async function unpackAll() {
  const parts = Array.from(document.querySelectorAll(".packed"));
  const texts = await Promise.all(parts.map(unpacked));
  parts.forEach((part, index) => {
    part.innerHTML = texts[index];
    part.hidden = false;
    enliven(part);
  });
  document.documentElement.dataset.ready = "yes";
}

enliven(document);
unpackAll();
addEventListener("beforeprint", () => document.querySelectorAll("details.profiler").forEach(part => { part.open = true; }));
