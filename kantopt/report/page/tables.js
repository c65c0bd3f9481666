// Tables: a filter, rows a hundred at a time, names of jobs that find them on the map.

const BATCH = 100;
const HOLDS_JOB = new Set(given.holdsJob), TINTED = new Set(["ACTION", "PROOF"]);

function tableOf(table, jobs, act) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells].map((cell) => ({ text: cell.textContent, right: cell.className }));
  const rows = [...body.rows].map((each) => ({ cells: [...each.cells].map((cell) => cell.textContent), look: each.className }));
  rows.push(...given.tables[Number(table.dataset.table)].map(([look, ...cells]) => ({ cells, look })));
  const cellOf = (text, i, look) => {
    const name = jobs.has(text) ? text : text.slice(0, text.lastIndexOf("/"));
    const known = HOLDS_JOB.has(heads[i].text) && jobs.has(name);
    const inside = known ? make("button", { type: "button", class: "job", onclick: () => act.seek(name) }, text) : text;
    const tinted = look && TINTED.has(heads[i].text) ? "tinted" : null;
    return make("td", { class: heads[i].right || tinted }, inside);
  };
  let limit = BATCH;
  const count = make("span", { class: "dim", role: "status" });
  const more = make("button", { type: "button", class: "more", onclick: () => { limit += 10 * BATCH; show(); } }, "Show more");
  const filter = make("input", { type: "search", placeholder: "Filter", "aria-label": `Filter ${table.closest("section").querySelector("h2")?.textContent ?? ""}` });
  function show() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fitting = rows.filter((each) => words.every((word) => each.cells.some((cell) => cell.toLowerCase().includes(word))));
    body.replaceChildren(...fitting.slice(0, limit).map((each) => make("tr", { class: each.look || null }, ...each.cells.map((text, i) => cellOf(text, i, each.look)))));
    count.textContent = words.length ? `${fitting.length} of ${plural(rows.length, "row")}` : plural(rows.length, "row");
    more.hidden = fitting.length <= limit;
  }
  filter.addEventListener("input", () => { limit = BATCH; show(); });
  if (rows.length > (heads.some((head) => head.text === "ACTION") ? 3 : 20)) table.closest(".scroll").before(make("div", { class: "filter" }, filter, count));
  table.closest(".scroll").after(more);
  show();
}
