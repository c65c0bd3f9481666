// The page: what is shown of the map now, and what changes that.

function theme() {
  const button = document.getElementById("theme"), whole = document.documentElement;
  const dark = () => whole.dataset.theme ? whole.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => { whole.dataset.theme = dark() ? "light" : "dark"; name(); });
  name();
}

function map(model) {
  const last = model.waves.length;
  const cores = model.resources.findIndex((resource) => resource[0] === "cores");
  const first = model.accelerators > 1 ? -1 : model.accelerators ? 0 : Math.max(cores, 0);
  const view = { wave: model.planned ? last : 0, resource: first, domain: model.root, lit: null, tiled: false, chosen: null };
  const drawing = make("div", { class: "drawing" }), crumbs = make("nav", { "aria-label": "Place" });
  const hint = make("p", { class: "hint dim" }), found = make("p", { class: "found-words", role: "status" });
  const panel = make("aside", { class: "panel", "aria-label": "Details" }), keys = make("div");
  const seeker = make("input", { type: "search", id: "seek", value: given.seek, placeholder: "Find a job, node, domain or state", "aria-label": "Find a job, node, domain or state", "aria-keyshortcuts": "/" });
  const slider = make("input", { type: "range", id: "wave", min: 0, max: last, step: 1, value: view.wave, "aria-label": "Wave" });
  const said = make("output", { for: "wave" });

  const act = {
    open(domain) { view.domain = domain; view.chosen = null; draw(); drawing.querySelector("button")?.focus(); },
    visit(node) { view.domain = model.nodes.length > model.many ? node.domain : model.root; view.chosen = node; draw(); drawing.querySelector(`[data-node="${node.index}"]`)?.focus(); },
    seek(text) { seeker.value = text; view.chosen = null; draw(); seeker.scrollIntoView({ block: "nearest" }); },
    choose(node, stay) { if (stay) seeker.value = stay.set.job.name; view.chosen = stay ? null : node; draw(); drawing.querySelector(`[data-node="${node.index}"]`)?.focus(); },
    hint(what) {
      light(what.set?.job);
      hint.textContent = what.set ? told(what, model) : what.stays ? [what.name, `${fill(model, [what], view)} in use`, ...what.marks, what.kind].filter(Boolean).join("; ") : what;
    },
  };

  // A job under the pointer, without drawing anew.
  function light(job) {
    for (const piece of drawing.querySelectorAll(".hover")) piece.classList.remove("hover");
    if (job) for (const piece of drawing.querySelectorAll(`[data-job="${job.index}"]`)) piece.classList.add("hover");
  }

  function words() {
    if (view.wave === 0) return "Before the plan";
    const { id, after, bound, moved, evicted } = model.waves[view.wave - 1];
    const done = [[bound, "bound"], [moved, "moved"], [evicted, "evicted"]].filter(([pods]) => pods).map(([pods, what]) => `${plural(pods, given.pod)} ${what}`);
    const waits = after.length ? `, waits for ${after.length > 6 ? plural(after.length, "wave") : after.join(", ")}` : "";
    const place = view.wave === last ? "After the plan" : `After ${view.wave} of ${plural(last, "wave")}`;
    return `${place}. Wave ${id}: ${done.join(", ") || "moves within nodes"}${waits}`;
  }

  function draw() {
    view.lit = search(model, seeker.value, view.wave);
    view.tiled = view.domain.nodes.length > model.many;
    drawing.classList.toggle("few", view.domain.nodes.length <= 40);
    drawing.replaceChildren(...(view.tiled ? tiles : cards)(model, view.domain, view, act));
    const path = [];
    for (let at = view.domain; at; at = at.parent) path.unshift(at);
    crumbs.hidden = path.length < 2;
    crumbs.replaceChildren(...path.map((domain) => domain === view.domain ? make("b", { "aria-current": "true" }, domain.name)
      : make("button", { type: "button", class: "job", onclick: () => act.open(domain) }, domain.name)));
    found.textContent = view.lit ? view.lit.words : "";
    said.textContent = words();
    slider.value = view.wave;
    slider.setAttribute("aria-valuetext", words());
    keys.replaceChildren(legend(model, view, act));
    const job = view.lit?.jobs.size === 1 ? [...view.lit.jobs][0] : null;
    const node = view.chosen ?? (view.lit?.nodes.size === 1 && !job ? [...view.lit.nodes][0] : null);
    panel.classList.toggle("idle", !node && !job);
    panel.replaceChildren(...(node ? ofNode(model, node, view, act) : job ? ofJob(model, job, view, act)
      : [make("p", { class: "dim" }, view.tiled ? "A square is a node. Open a domain to see its nodes by name." : "Choose a node, or a job on it.")]).filter(Boolean));
  }

  function go(wave) { view.wave = Math.min(Math.max(wave, 0), last); draw(); }
  const step = (text, name, wave) => make("button", { type: "button", title: name, "aria-label": name, onclick: () => go(wave()) }, text);
  slider.addEventListener("input", () => go(Number(slider.value)));
  seeker.addEventListener("input", () => { view.chosen = null; draw(); });
  seeker.addEventListener("keydown", (event) => {
    const only = view.lit?.nodes.size ? [...view.lit.nodes][0] : null;
    if (event.key === "Enter" && only) { act.visit(only); view.chosen = null; }
  });
  drawing.addEventListener("pointerleave", () => { light(null); hint.textContent = ""; });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input, select");
    if (event.key === "/" && !typing) { event.preventDefault(); seeker.focus(); }
    if (event.key === "[" && !typing) go(view.wave - 1);
    if (event.key === "]" && !typing) go(view.wave + 1);
    if (event.key === "Escape") {
      if (seeker.value || view.chosen) { seeker.value = ""; view.chosen = null; draw(); } else if (view.domain.parent) act.open(view.domain.parent);
    }
  });
  const options = model.resources.map((resource, r) => make("option", { value: r, selected: r === first }, resource[0]));
  if (model.accelerators > 1) options.unshift(make("option", { value: -1, selected: true }, "GPUs and devices"));
  const chooser = make("select", { "aria-label": "Resource", onchange: () => { view.resource = Number(chooser.value); draw(); } }, ...options);
  const waves = model.planned && last ? make("div", { class: "waves" },
    step("Before", "Before the plan", () => 0), step("◀", "Wave before", () => view.wave - 1), slider,
    step("▶", "Next wave", () => view.wave + 1), step("After", "After the plan", () => last), said) : null;
  document.getElementById("map-room").append(
    make("div", { class: "tools" }, seeker, chooser, ...(waves ? [waves] : []), hint), found, keys, crumbs,
    make("div", { class: "halves" }, drawing, panel),
    make("p", { class: "dim keys-help" }, "Keys: / finds, Esc goes back", ...(waves ? [", [ and ] go from wave to wave"] : []), "."),
  );
  draw();
  return act;
}

theme();
const model = given.picture ? modelOf(given.picture) : null;
const act = model ? map(model) : null;
const jobNames = new Set(model ? model.jobs.map((job) => job.name) : []);
for (const table of document.querySelectorAll("table[data-table]")) tableOf(table, jobNames, act);
document.documentElement.dataset.ready = String(Math.round(performance.now()));
