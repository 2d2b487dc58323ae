// The browser of completions: filters, the groups that match, the chosen one.

/** Groups that are listed at a time, and samples of a group that are shown. */
const PAGE = 60;
const MAX_SAMPLES = 64;
const MAX_SQUARES = 24;
const MAX_OCCURRENCES = 40;

/** What was found, how much of it is listed, and the place of the chosen group. */
let found = { groups: [], matches: () => true, seen: 0 };
let listed = 0;
let chosen = 0;

/** Opens the browser at the last step; of an evaluation, at its samples. */
async function openBrowser() {
  fill(byId("filter-step"), [el("option", { value: "" }, "all")]);
  drawFilters();
  listenToFilters();
  await show({ step: index.step.at(known.evaluation ? 0 : -1) });
}

/** Draws the filters, or adds what they lack. */
function drawFilters() {
  const steps = byId("filter-step");
  const offered = new Set([...steps.options].map((it) => it.value));
  const lacking = [...new Set(index.step)].filter((step) => !offered.has(String(step)));
  fill(steps, lacking.map((step) => el("option", { value: step }, step)));
  drawChips(byId("filter-verdicts"));
  if (index.step.length < index.all) refresh(byId("completions-lead"), lessThanAll());
}

/** A chip for each verdict of the run, with its count in the step, task and kind of group that are chosen. */
function drawChips(host) {
  const [ofRun, ofChoice] = [verdictCounts(groups), verdictCounts(groupsWanted(groups))];
  const present = index.verdicts.filter((_, at) => ofRun[at] > 0);
  present.forEach((name, at) => {
    const isThere = host.children[at]?.dataset.verdict === name;
    if (!isThere) host.insertBefore(chip(name), host.children[at] ?? null);
    const count = ofChoice[index.verdicts.indexOf(name)].toLocaleString("en");
    refresh(host.children[at].querySelector("b"), count);
  });
}

/** The completions of some groups, by verdict. */
function verdictCounts(among) {
  const counts = index.verdicts.map(() => 0);
  for (const { start, end } of among) {
    for (let at = start; at < end; at += 1) counts[index.verdict[at]] += 1;
  }
  return counts;
}

function lessThanAll() {
  const [all, shown] = [counted(index.all, "completion"), index.step.length.toLocaleString("en")];
  const which = index.stride > 1 ? `, those of one step in ${index.stride}` : "";
  return `The run has ${all}; ${shown} of them can be read here${which}. The curves count them all.`;
}

function chip(verdict) {
  const button = el("button",
    { type: "button", class: "chip", "aria-pressed": "false", "data-verdict": verdict },
    key(verdictTone(verdict)), words(verdict), " ", el("b"));
  button.addEventListener("click", () => {
    if (!wanted.verdicts.delete(verdict)) wanted.verdicts.add(verdict);
    button.setAttribute("aria-pressed", String(wanted.verdicts.has(verdict)));
    find();
  });
  return button;
}

/** Looks for what the filters say; chooses the group that `isMeant`, or the first. */
async function find(isMeant = () => true) {
  drawChips(byId("filter-verdicts"));
  const said = byId("found");
  const answered = await answer((part) => replace(said, `Searching, ${Math.round(100 * part)} %`));
  if (answered === null) return;
  found = answered;
  listed = 0;
  byId("groups").replaceChildren();
  sayFound();
  listMore();
  if (found.groups.length === 0) byId("group").replaceChildren();
  else await choose(Math.max(0, found.groups.findIndex(isMeant)));
}

function sayFound() {
  const samples = sum(found.groups.map((group) => members(group).filter(found.matches).length));
  const count = `${counted(samples, "completion")} in ${counted(found.groups.length, "group")}`;
  replace(byId("found"), found.groups.length === 0 ? "Nothing matches." : count);
}

function listMore() {
  const next = found.groups.slice(listed, listed + PAGE).map((group, at) => groupItem(group, listed + at));
  byId("groups").append(...next);
  listed += next.length;
  byId("more").hidden = listed >= found.groups.length;
}

function groupItem(group, place) {
  const squares = members(group).slice(0, MAX_SQUARES).map((at) => {
    const faded = found.matches(at) ? "" : " faded";
    return el("span", { class: `square tone-${verdictTone(verdictOf(at))}${faded}`, title: words(verdictOf(at)) });
  });
  const passes = `${passesOf(group)} of ${group.end - group.start} pass`;
  const button = el("button", { type: "button", "data-place": place, tabindex: -1 },
    el("span", { class: "name" }, brief(index.tasks[group.task], 60)),
    el("span", { class: "squares", "aria-hidden": "true" }, squares),
    el("span", { class: "detail" }, `step ${group.step} \u00b7 ${passes}${group.dead ? " \u00b7 dead" : ""}`));
  button.addEventListener("click", () => choose(place));
  return el("li", {}, button);
}

function buttonAt(place) {
  return byId("groups").querySelector(`[data-place="${place}"]`);
}

/** Chooses a group of those found and shows it. */
async function choose(place) {
  while (place >= listed) listMore();
  for (const button of byId("groups").querySelectorAll("[aria-current]")) {
    button.removeAttribute("aria-current");
    button.tabIndex = -1;
  }
  adorn(buttonAt(place), { "aria-current": "true", tabindex: 0 });
  chosen = place;
  const group = found.groups[place];
  const numbers = members(group).slice(0, MAX_SAMPLES);
  const [task, ...completions] = await Promise.all([taskOf(group.task), ...numbers.map(completion)]);
  if (found.groups[chosen] === group) showGroup(group, task, numbers.map(entry), completions);
}

/** What the index says of a completion. */
function entry(at) {
  return {
    sample: index.sample[at],
    verdict: verdictOf(at),
    reward: index.reward[at],
    advantage: index.advantage[at],
    matches: found.matches(at),
  };
}

function showGroup(group, task, entries, completions) {
  const all = group.end - group.start;
  const some = entries.length < all ? `the first ${entries.length} of ` : "";
  const dead = group.dead ? ". Dead: its samples do not differ in their tests, so nothing is learnt from it." : "";
  replace(byId("group"),
    el("h3", {}, brief(index.tasks[group.task], 200)),
    el("p", { class: "quiet" }, `Step ${group.step}, ${some}${counted(all, "sample")}${dead}`),
    statement(task),
    occurrences(group),
    el("div", { class: "samples" }, entries.map((it, at) => sampleCard(it, completions[at], task))),
    comparison(entries, completions));
}

/** The same task in other steps. */
function occurrences(group) {
  const all = groups.filter((it) => it.task === group.task);
  if (all.length < 2) return null;
  const links = all.slice(0, MAX_OCCURRENCES).map((it) => {
    const text = `step ${it.step}: ${passesOf(it)} of ${it.end - it.start}`;
    const link = el("button", { type: "button", class: "chip", "aria-pressed": String(it === group) }, text);
    link.addEventListener("click", () => show({ step: it.step, task: index.tasks[it.task] }, (one) => one === it));
    return link;
  });
  return el("div", { class: "chips", role: "group", "aria-label": "This task in other steps" }, links);
}

/** Sets the filters anew and looks. */
function show({ step = "", task = "" }, isMeant) {
  Object.assign(wanted, { step: String(step), task, groups: "", text: "" });
  wanted.verdicts.clear();
  for (const button of byId("filter-verdicts").children) button.setAttribute("aria-pressed", "false");
  for (const name of ["step", "task", "groups", "text"]) byId(`filter-${name}`).value = wanted[name];
  return find(isMeant);
}

/** From a curve to the completions of one of its steps, or of the nearest step that has texts. */
function openStep(step) {
  openTask(step, "");
}

/** The same, of one task. If the nearest step that has texts is without it, all of that step. */
function openTask(step, task) {
  if (index === null || index.step.length === 0) return;
  const steps = [...new Set(index.step)].sort((one, other) => one - other);
  const there = steps[nearest(steps, step)];
  const isThere = groups.some((it) => it.step === there && index.tasks[it.task] === task);
  show({ step: there, task: isThere ? task : "" }, (it) => index.tasks[it.task] === task);
  byId("completions-title").scrollIntoView();
  byId("completions-title").focus({ preventScroll: true });
}

function listenToFilters() {
  let waiting = 0;
  for (const name of ["step", "task", "groups", "text"]) {
    byId(`filter-${name}`).addEventListener("input", (event) => {
      wanted[name] = event.target.value;
      clearTimeout(waiting);
      waiting = setTimeout(find, event.target.tagName === "INPUT" ? 200 : 0);
    });
  }
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("more").addEventListener("click", listMore);
  byId("groups").addEventListener("keydown", moveInList);
  document.addEventListener("keydown", (event) => {
    const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    byId("filter-text").focus();
  });
}

function moveInList(event) {
  const moves = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, Home: -Infinity, End: Infinity };
  if (!(event.key in moves)) return;
  event.preventDefault();
  // One beyond what is listed brings the next page; the end is that of the list, not of all.
  const last = Math.min(found.groups.length - 1, event.key === "End" ? listed - 1 : listed);
  choose(Math.max(0, Math.min(last, chosen + moves[event.key])));
  buttonAt(chosen).focus();
}
