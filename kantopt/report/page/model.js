"use strict";
// What the page was given, from columns back to things, and how it stands after a wave.

const FATES = ["stays", "evicted", "moved", "bound"];
const STAYS = 0;
const given = JSON.parse(document.getElementById("data").textContent);

function modelOf(columns) {
  const { domains: d, nodes: n, sets: s, jobs: j } = columns;
  const domains = d.name.map((name, index) => ({
    index, name, parent: null, depth: 0, children: [], nodes: [],
  }));
  domains.forEach((domain, i) => {
    if (d.parent[i] < 0) return;
    domain.parent = domains[d.parent[i]];
    domain.depth = domain.parent.depth + 1;
    domain.parent.children.push(domain);
  });
  const root = {
    index: -1, name: "cluster", parent: null, depth: -1, nodes: [],
    children: domains.filter((domain) => !domain.parent),
  };
  root.children.forEach((domain) => { domain.parent = root; });
  const jobs = j.name.map((name, index) => ({
    index, name, priority: j.priority[index], stays: [], waits: null, colour: -1,
  }));
  const priorities = [...new Set(j.priority)].sort((a, b) => a - b);
  jobs.forEach((job) => {
    const rank = priorities.length > 1 ? priorities.indexOf(job.priority) / (priorities.length - 1) : 0.5;
    job.grey = Math.round(4 * rank);
  });
  columns.waiting.forEach(([job, pods, wanted, why]) => { jobs[job].waits = { pods, wanted, why }; });
  const sets = s.job.map((job, i) => ({
    job: jobs[job], name: s.name[i], takes: columns.takes[s.takes[i]],
  }));
  const stays = columns.stays.set.map((set, i) => ({
    set: sets[set], count: columns.stays.count[i], since: 0, until: Infinity, came: STAYS, goes: STAYS,
  }));
  columns.changes.forEach(([i, since, until, came, goes]) => {
    Object.assign(stays[i], { since, until: until === null ? Infinity : until, came, goes });
  });
  let next = 0;
  const nodes = n.name.map((name, index) => {
    const node = {
      index, name, domain: domains[n.domain[index]], kind: columns.kinds[n.kind[index]],
      offers: columns.offers[n.offers[index]], marks: [], stays: stays.slice(next, next + n.stays[index]),
    };
    next += n.stays[index];
    node.stays.forEach((stay) => { stay.node = node; stay.set.job.stays.push(stay); });
    for (let at = node.domain; at; at = at.parent) at.nodes.push(node);
    return node;
  });
  columns.marked.forEach(([i, marks]) => { nodes[i].marks = marks.map((mark) => columns.marks[mark]); });
  let colour = 0;
  stays.forEach((stay) => {
    const job = stay.set.job;
    if (FATES[stay.came] === "bound" && job.colour < 0) job.colour = colour++ % 6;
  });
  const waves = columns.waves.map(([id, after]) => ({ id, after, bound: 0, moved: 0, evicted: 0 }));
  stays.forEach((stay) => {
    if (stay.since) waves[stay.since - 1][FATES[stay.came]] += stay.count;
    if (FATES[stay.goes] === "evicted") waves[stay.until - 1].evicted += stay.count;
  });
  const total = { bound: 0, moved: 0, evicted: 0 };
  for (const wave of waves) for (const fate in total) total[fate] += wave[fate];
  return { ...columns, root, domains, nodes, jobs, waves, total };
}

const isThere = (stay, wave) => stay.since <= wave && wave < stay.until;
const fateOf = (stay) => FATES[stay.since ? stay.came : stay.goes];
const hasChanged = (stay, wave) => wave > 0 && (stay.since === wave || stay.until === wave);

function usedOf(node, resource, wave) {
  let sum = 0;
  for (const stay of node.stays) if (isThere(stay, wave)) sum += stay.count * stay.set.takes[resource];
  return sum;
}

// Resources by which a node is drawn: the one chosen (from 0 on), or all devices that it has.
function drawnOf(model, node, chosen) {
  if (chosen >= 0) return node.offers[chosen] ? [chosen] : [];
  return [...Array(model.accelerators).keys()].filter((r) => node.offers[r]);
}

// Share of a node that is in use, the mean over what it is drawn by; null if it has none of it.
function shareOf(model, node, view) {
  const drawn = drawnOf(model, node, view.resource);
  if (!drawn.length) return null;
  const shares = drawn.map((r) => usedOf(node, r, view.wave) / node.offers[r]);
  return shares.some((share) => share > 1) ? 2 : shares.reduce((a, b) => a + b) / shares.length;
}

function number(value, resource) {
  const form = resource[2];
  if (form === "thousandths") return String(Math.round(value) / 1000);
  if (form === "bytes") {
    const units = ["B", "Ki", "Mi", "Gi", "Ti", "Pi"];
    let k = 0;
    for (; value >= 1024 && k < units.length - 1; k++) value /= 1024;
    return `${Math.round(10 * value) / 10}${units[k]}`;
  }
  return String(value);
}

function amountOf(value, resource) {
  const written = number(value, resource);
  if (resource[2] === "bytes") return `${written} ${resource[0]}`;
  return `${written} ${written === "1" ? resource[1] : resource[0]}`;
}

const plural = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;
const percent = (share) => (share > 0.99 && share < 1 ? ">99%" : `${Math.round(100 * share)}%`);

// In use of what some nodes offer: "93% of 256 GPUs".
function fill(model, nodes, view) {
  const parts = [];
  const wanted = view.resource >= 0 ? [view.resource] : [...Array(model.accelerators).keys()];
  for (const r of wanted) {
    let offered = 0, used = 0;
    for (const node of nodes) {
      if (node.offers[r]) { offered += node.offers[r]; used += usedOf(node, r, view.wave); }
    }
    if (offered) parts.push(`${percent(used / offered)} of ${amountOf(offered, model.resources[r])}`);
  }
  return parts.join(", ") || "nothing of it";
}

// An element; texts are never markup, and styles are set one by one, as the page's policy wants.
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "path"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}
