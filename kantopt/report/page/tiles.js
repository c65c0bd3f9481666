// Many nodes: a tile per domain, a square per node, the darker the more of it is in use.

const CELL = 8, GAP = 1;

function levelOf(share) {
  if (share === null) return "none";
  if (share > 1) return "over";
  return share === 1 ? "use5" : `use${Math.ceil(4 * share)}`;
}

const columnsOf = (count) => Math.max(6, Math.ceil(Math.sqrt(1.8 * count)));

function cells(model, nodes, view) {
  const across = columnsOf(nodes.length), paths = new Map();
  const draw = (kind, step) => paths.set(kind, (paths.get(kind) || "") + step);
  nodes.forEach((node, i) => {
    const x = (i % across) * (CELL + GAP), y = Math.floor(i / across) * (CELL + GAP);
    const off = view.lit && !view.lit.nodes.has(node) ? " off" : "";
    draw(levelOf(shareOf(model, node, view)) + off, `M${x} ${y}h${CELL}v${CELL}h-${CELL}z`);
    if (node.marks.length) for (const kind of ["halo", "barred"]) draw(kind + off, `M${x + 1} ${y + 1}l6 6M${x + 7} ${y + 1}l-6 6`);
    if (node.stays.some((stay) => hasChanged(stay, view.wave))) draw("changed", `M${x} ${y}h${CELL}v${CELL}h-${CELL}z`);
  });
  const width = across * (CELL + GAP), height = Math.ceil(nodes.length / across) * (CELL + GAP);
  const above = (kind) => ["halo", "barred", "changed"].indexOf(kind.split(" ")[0]);
  const order = [...paths].sort(([a], [b]) => above(a) - above(b));
  return make(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    ...order.map(([kind, d]) => make("path", { class: kind, d })),
  );
}

// The node of a tile's square under the pointer.
function nodeUnder(event, nodes) {
  const at = event.currentTarget.querySelector("svg").getBoundingClientRect();
  const across = columnsOf(nodes.length), step = at.width / across;
  const x = Math.floor((event.clientX - at.left) / step), y = Math.floor((event.clientY - at.top) / step);
  return x >= 0 && x < across && y >= 0 ? nodes[y * across + x] : undefined;
}

function tile(model, domain, view, act) {
  const marked = domain.nodes.filter((node) => node.marks.length).length;
  const found = view.lit ? domain.nodes.filter((node) => view.lit.nodes.has(node)).length : 0;
  const shares = domain.nodes.map((node) => shareOf(model, node, view)).filter((share) => share !== null);
  const mean = shares.length ? percent(shares.reduce((a, b) => a + Math.min(b, 1), 0) / shares.length) : "-";
  const words = [plural(domain.nodes.length, "node"), fill(model, domain.nodes, view) + " in use"];
  if (marked) words.push(`${marked} closed to ${given.pod}s`);
  if (found) words.push(`${found} found`);
  return make(
    "button",
    {
      type: "button", class: found ? "tile found" : "tile", "aria-label": `${domain.name} ${mean}: ${words.join(", ")}`,
      onclick: () => act.open(domain),
      onpointermove: (event) => act.hint(nodeUnder(event, domain.nodes) || `${domain.name}: ${words.join(", ")}`),
    },
    make("span", { class: "head" }, make("b", {}, domain.name), " ", make("span", {}, mean)),
    cells(model, domain.nodes, view),
  );
}

// Domains to show as tiles: the finest of which there are not more than many.
function tiled(model, domain) {
  let shown = domain.children, finer = shown;
  while (finer.length <= model.many) {
    shown = finer;
    finer = shown.flatMap((each) => (each.children.length ? each.children : [each]));
    if (finer.length === shown.length) break;
  }
  return shown;
}

function pathOf(domain, below) {
  const names = [];
  for (let at = domain; at && at !== below && at.parent; at = at.parent) names.unshift(at.name);
  return names.join("/");
}

function tiles(model, domain, view, act) {
  const groups = new Map();
  for (const each of tiled(model, domain)) {
    if (!groups.has(each.parent)) groups.set(each.parent, []);
    groups.get(each.parent).push(each);
  }
  return [...groups].map(([parent, members]) => make(
    "section",
    { class: "group" },
    parent === domain ? null : make("h3", {}, make("b", {}, pathOf(parent, domain)),
      ` ${plural(parent.nodes.length, "node")}, ${fill(model, parent.nodes, view)} in use`),
    make("div", { class: "tiles" }, ...members.map((each) => tile(model, each, view, act))),
  ));
}
