// Few nodes: a card per domain, a bar per node, a piece of it per pod set.

function pieceClass(stay, view) {
  const fate = fateOf(stay), job = stay.set.job;
  const look = fate === "stays" ? `grey${job.grey}` : fate === "bound" ? `bound${job.colour}` : fate;
  const found = !view.lit || view.lit.jobs.has(job) || view.lit.named.has(stay.node);
  return `piece ${look}${found ? "" : " off"}`;
}

function becomes(stay, model) {
  const waves = [];
  if (stay.since) waves.push(`${FATES[stay.came]} in wave ${model.waves[stay.since - 1].id}`);
  if (stay.until < Infinity) waves.push(`${FATES[stay.goes]} in wave ${model.waves[stay.until - 1].id}`);
  return waves.join(", ") || (model.planned ? "stays" : "runs");
}

function told(stay, model) {
  const { job, name, takes } = stay.set, taken = [];
  model.resources.forEach((resource, r) => {
    if (takes[r] && taken.length < 3) taken.push(amountOf(stay.count * takes[r], resource));
  });
  const what = `${job.name}/${name} x${stay.count}`;
  return `${what}: ${taken.join(", ")}; priority ${job.priority}; ${becomes(stay, model)}`;
}

function bar(model, node, r, view, widest) {
  const offered = node.offers[r], used = usedOf(node, r, view.wave);
  const room = make("span", { class: node.marks.length ? "room barred" : "room" });
  room.style.width = `${(100 * offered) / widest}%`;
  if (model.resources[r][2] === "thousandths" && offered <= 16000) {
    room.classList.add("ticks");
    room.style.setProperty("--each", `${100000 / offered}%`);
  }
  const track = make("span", { class: "track" }, room);
  let at = 0;
  for (const stay of node.stays) {
    const taken = isThere(stay, view.wave) ? stay.count * stay.set.takes[r] : 0;
    if (!taken) continue;
    const piece = make("i", { class: pieceClass(stay, view), "data-job": stay.set.job.index });
    piece.stay = stay;
    piece.style.left = `${(100 * at) / widest}%`;
    piece.style.width = `${(100 * taken) / widest}%`;
    track.append(piece);
    at += taken;
  }
  if (used > offered) {
    const over = make("span", { class: "excess" });
    over.style.left = `${(100 * offered) / widest}%`;
    over.style.width = `${(100 * (used - offered)) / widest}%`;
    track.append(over);
  }
  return track;
}

function row(model, node, view, widest, act, usual) {
  const drawn = drawnOf(model, node, view.resource);
  const parts = drawn.map((r) => {
    const used = usedOf(node, r, view.wave);
    return { used, r, text: `${number(used, model.resources[r])}/${number(node.offers[r], model.resources[r])}` };
  });
  const badges = [...node.marks, ...(node.kind && node.kind !== usual ? [node.kind] : [])];
  const over = parts.some(({ used, r }) => used > node.offers[r]);
  const found = view.lit && view.lit.nodes.has(node);
  const touched = node.stays.some((stay) => hasChanged(stay, view.wave));
  return make(
    "button",
    {
      type: "button", class: `node${touched ? " touched" : ""}${found ? " found" : ""}${view.lit && !found ? " away" : ""}`, "data-node": node.index,
      onclick: (event) => act.choose(node, event.target.stay),
      onpointermove: (event) => act.hint(event.target.stay || node),
    },
    make("span", { class: "name" }, node.name),
    make("span", { class: "bars" }, ...(drawn.length
      ? drawn.map((r) => bar(model, node, r, view, widest[r])) : [make("span", { class: "nothing" }, "has none of it")])),
    " ", make("span", { class: over ? "count bad" : "count" }, parts.map((part) => part.text).join(" · ")),
    make("span", { class: "unseen" }, ` ${parts.map(({ r }) => model.resources[r][0]).join(", ")} in use `),
    badges.length ? make("span", { class: "badges" }, ...badges.map((text) => make("span", { class: node.marks.includes(text) ? "badge mark" : "badge" }, text))) : null,
  );
}

function cards(model, domain, view, act) {
  const widest = model.resources.map((_, r) => Math.max(1, ...domain.nodes.map((node) => Math.max(
    node.offers[r], node.offers[r] ? usedOf(node, r, view.wave) : 0))));
  const groups = new Map(), kinds = new Map();
  for (const node of domain.nodes) {
    if (!groups.has(node.domain)) groups.set(node.domain, []);
    groups.get(node.domain).push(node);
  }
  for (const node of model.nodes) kinds.set(node.kind, (kinds.get(node.kind) || 0) + 1);
  const usual = [...kinds].sort((a, b) => b[1] - a[1])[0]?.[0];
  return [make("div", { class: "cards" }, ...[...groups].map(([each, nodes]) => make(
    "section",
    { class: "card" },
    make("h3", {}, make("b", {}, pathOf(each, each === domain ? each.parent : domain)), ` ${fill(model, nodes, view)}`),
    ...nodes.map((node) => row(model, node, view, widest, act, usual)),
  )))];
}
