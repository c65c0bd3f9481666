// What is looked for, and what is said of a node or a job.

// Jobs, nodes, domains, states and kinds whose names have a text in them; a name itself is that one.
function search(model, text, wave) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return null;
  const exact = model.jobs.filter((job) => job.name.toLowerCase() === wanted);
  const jobs = new Set(exact.length ? exact : model.jobs.filter((job) => job.name.toLowerCase().includes(wanted)));
  const has = (node) => [node.name, node.kind, ...node.marks].some((each) => each.toLowerCase().includes(wanted));
  const inside = new Set(model.domains.filter((domain) => domain.name.toLowerCase() === wanted));
  const within = (node) => { for (let at = node.domain; at; at = at.parent) if (inside.has(at)) return true; return false; };
  const named = new Set(exact.length ? [] : model.nodes.filter((node) => has(node) || within(node)));
  const nodes = new Set(named);
  let pods = 0;
  const holding = new Set();
  for (const job of jobs) {
    for (const stay of job.stays) {
      if (isThere(stay, wave)) { pods += stay.count; nodes.add(stay.node); holding.add(stay.node); }
    }
  }
  const words = [];
  if (jobs.size) words.push(`${plural(jobs.size, "job")} with ${plural(pods, given.pod)} on ${plural(holding.size, "node")}`);
  const waits = [...jobs].filter((job) => job.waits);
  if (waits.length) words.push(jobs.size === 1 ? `${waits[0].waits.pods} of ${waits[0].waits.wanted} ${given.pod}s wait` : `${waits.length} of them wait`);
  if (named.size) words.push(`${plural(named.size, "node")} of that name, kind or state`);
  return { jobs, nodes, named, words: words.join("; ") || "nothing has that in its name" };
}

function jobButton(job, act) {
  return make("button", { type: "button", class: "job", onclick: () => act.seek(job.name) }, job.name);
}

function listed(rows) {
  return make("ul", {}, ...rows.slice(0, 40).map((row) => make("li", {}, ...row)),
    rows.length > 40 ? make("li", { class: "dim" }, `and ${rows.length - 40} more`) : null);
}

function ofNode(model, node, view, act) {
  const there = node.stays.filter((stay) => isThere(stay, view.wave));
  const rows = there.map((stay) => [jobButton(stay.set.job, act), told(stay, model).slice(stay.set.job.name.length)]);
  const held = model.resources.map((resource, r) => [resource, r]).filter(([, r]) => node.offers[r]);
  return [
    make("h3", {}, make("b", {}, node.name)),
    make("p", { class: "dim" }, [pathOf(node.domain), node.kind].filter(Boolean).join(" · ")),
    node.marks.length ? make("p", { class: "bad" }, `Closed to ${given.pod}s: ${node.marks.join(", ")}`) : null,
    make("ul", {}, ...held.map(([resource, r]) => make("li", {}, `${number(usedOf(node, r, view.wave), resource)} of ${amountOf(node.offers[r], resource)} in use`))),
    rows.length ? listed(rows) : make("p", { class: "dim" }, "Nothing runs here."),
  ];
}

function ofJob(model, job, view, act) {
  const rows = job.stays.filter((stay) => isThere(stay, view.wave) || stay.since > view.wave).map((stay) => [
    make("button", { type: "button", class: "job", onclick: () => act.visit(stay.node) }, stay.node.name),
    ` ${stay.set.name} x${stay.count}, ${becomes(stay, model)}`,
  ]);
  return [
    make("h3", {}, make("b", {}, job.name)),
    make("p", { class: "dim" }, `priority ${job.priority}`),
    job.waits ? make("p", { class: "warn" }, `${job.waits.pods} of ${job.waits.wanted} ${given.pod}s wait: ${job.waits.why}`) : null,
    rows.length ? listed(rows) : make("p", { class: "dim" }, `None of its ${given.pod}s runs at this moment.`),
  ];
}

function legend(model, view, act) {
  const key = (look, text) => make("li", {}, make("span", { class: `key ${look}`, "aria-hidden": "true" }), text);
  const scale = make("li", {}, make("span", { class: "keys", "aria-hidden": "true" },
    ...[0, 1, 2, 3, 4, 5].map((k) => make("span", { class: `key use${k}` }))), "free to full");
  const keys = view.tiled
    ? [scale]
    : [
      make("li", {}, make("span", { class: "keys", "aria-hidden": "true" }, ...[0, 2, 4].map((k) => make("span", { class: `key grey${k}` }))),
        `${model.planned ? "stays" : "runs"}, weak to strong: priority`),
      model.total.evicted ? key("evicted", "evicted") : null,
      model.total.moved ? key("moved", "moved") : null,
      model.total.bound ? key("bound0", "bound, a colour per job") : null,
    ];
  if (model.waves.length) keys.push(key("changed", "changed in this wave"));
  if (model.nodes.some((node) => model.resources.some((_, r) => node.offers[r] && usedOf(node, r, view.wave) > node.offers[r]))) {
    keys.push(key("over", "more than the node has"));
  }
  const count = (has) => model.nodes.filter(has).length;
  const pick = (text, has, look) => make("li", {}, make("button", { type: "button", class: "pick", onclick: () => act.seek(text) },
    look ? make("span", { class: `key ${look}`, "aria-hidden": "true" }) : null, `${text} `, make("span", { class: "dim" }, String(count(has)))));
  const states = given.states.filter((state) => model.marks.some((mark) => mark.startsWith(state)));
  const picks = states.map((state) => pick(state, (node) => node.marks.some((mark) => mark.startsWith(state)), "barred"));
  if (model.kinds.length > 1 && model.kinds.length <= 12) {
    picks.push(...model.kinds.filter(Boolean).map((kind) => pick(kind, (node) => node.kind === kind, "")));
  }
  return make("ul", { class: "legend", "aria-label": "Legend" }, ...keys, ...picks);
}
