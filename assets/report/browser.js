// The browser of completions: filters over the index, groups that match, the chosen one; and the start.

const PAGE = 60;

/** The index by columns, and its groups: { start, end, step, task }. */
let index = null;
let groups = [];
/** For each chunk the number of its first completion. */
let chunkStarts = [];
/** What is asked for. */
const wanted = { step: "", task: "", groups: "", text: "", verdicts: new Set() };
/** Groups that match, how many are listed, which is chosen, and which samples match. */
let found = [];
let listed = 0;
let chosen = null;
let matching = null;
/** Counts searches, so that an older one stops when a newer begins. */
let search = 0;

function readIndex(read) {
  index = read;
  chunkStarts = [];
  index.chunks.reduce((start, count) => (chunkStarts.push(start), start + count), 0);
  groups = [];
  index.step.forEach((step, at) => {
    const last = groups.at(-1);
    if (last && last.step === step && last.task === index.task[at]) last.end = at + 1;
    else groups.push({ start: at, end: at + 1, step, task: index.task[at] });
  });
  for (const group of groups) group.dead = isDead(group);
}

function isDead({ start, end }) {
  const rewards = index.reward.slice(start, end).filter((it) => it !== null);
  return rewards.every((it) => Math.abs(it - rewards[0]) < 1e-9);
}

function verdictOf(at) {
  return index.verdicts[index.verdict[at]];
}

function chunkOf(at) {
  let chunk = chunkStarts.length - 1;
  while (chunkStarts[chunk] > at) chunk -= 1;
  return chunk;
}

async function completion(at) {
  const chunk = chunkOf(at);
  return (await list(`completions-${chunk}`))[at - chunkStarts[chunk]];
}

async function taskOf(number) {
  const place = index.places[number];
  return place ? (await list(`tasks-${place[0]}`))[place[1]] : null;
}

function drawFilters() {
  const steps = [...new Set(index.step)];
  replace(byId("filter-step"), el("option", { value: "" }, "all"), steps.map((step) => el("option", { value: step }, step)));
  const counts = new Map();
  index.verdict.forEach((it) => counts.set(it, (counts.get(it) ?? 0) + 1));
  const present = index.verdicts.map((name, at) => [name, counts.get(at) ?? 0]).filter(([, count]) => count > 0);
  replace(byId("filter-verdicts"), present.map(([name, count]) => {
    const chip = el("button", { type: "button", class: "chip", "aria-pressed": "false", "data-verdict": name },
      el("span", { class: `key tone-v-${verdictTone(name)}` }), words(name), " ", el("b", {}, count.toLocaleString("en")));
    chip.addEventListener("click", () => {
      const pressed = !wanted.verdicts.has(name);
      if (pressed) wanted.verdicts.add(name);
      else wanted.verdicts.delete(name);
      chip.setAttribute("aria-pressed", String(pressed));
      find();
    });
    return chip;
  }));
  if (index.stride > 1 || index.step.length < index.all) {
    replace(byId("completions-lead"), `The run has ${counted(index.all, "completion")}; ${index.step.length.toLocaleString("en")} of them can be read here, those of every ${index.stride}th step. The curves count them all.`);
  }
}

/** Finds what is asked for: by the index at once, by text chunk after chunk. */
async function find() {
  search += 1;
  const mine = search;
  const task = wanted.task.toLowerCase();
  const tasks = task === "" ? null : new Set(index.tasks.flatMap((name, at) => name.toLowerCase().includes(task) ? [at] : []));
  const fits = groups.filter((it) => (wanted.step === "" || it.step === Number(wanted.step)) && (tasks === null || tasks.has(it.task)) &&
    (wanted.groups === "" || it.dead === (wanted.groups === "dead")));
  const byVerdict = (at) => wanted.verdicts.size === 0 || wanted.verdicts.has(verdictOf(at));
  if (wanted.text === "") {
    matching = byVerdict;
    return listFound(fits.filter((group) => someIn(group, byVerdict)));
  }
  const hits = new Set();
  const needed = [...new Set(fits.flatMap((group) => [chunkOf(group.start), chunkOf(group.end - 1)]))].sort((a, b) => a - b);
  const text = wanted.text.toLowerCase();
  for (const [done, chunk] of needed.entries()) {
    if (done % 8 === 0) replace(byId("found"), `Searching, ${Math.round((100 * done) / needed.length)} %`);
    // Unpacked and let go again: all texts at once may be more than a phone can hold.
    const texts = JSON.parse(await unpack(`completions-${chunk}`));
    if (mine !== search) return undefined;
    texts.forEach((it, at) => { if (it.text.toLowerCase().includes(text)) hits.add(chunkStarts[chunk] + at); });
  }
  matching = (at) => byVerdict(at) && hits.has(at);
  return listFound(fits.filter((group) => someIn(group, matching)));
}

function someIn({ start, end }, test) {
  for (let at = start; at < end; at += 1) if (test(at)) return true;
  return false;
}

function listFound(groupsFound) {
  found = groupsFound;
  listed = 0;
  byId("groups").replaceChildren();
  const samples = found.reduce((sum, { start, end }) => {
    for (let at = start; at < end; at += 1) sum += matching(at) ? 1 : 0;
    return sum;
  }, 0);
  replace(byId("found"), found.length === 0 ? "Nothing matches." : `${counted(samples, "completion")} in ${counted(found.length, "group")}`);
  listMore();
  return found.length > 0 ? choose(0) : replace(byId("group"));
}

function listMore() {
  const next = found.slice(listed, listed + PAGE).map((group, offset) => groupItem(group, listed + offset));
  byId("groups").append(...next);
  listed += next.length;
  byId("more").hidden = listed >= found.length;
}

function groupItem(group, place) {
  const squares = [];
  let passes = 0;
  for (let at = group.start; at < group.end; at += 1) {
    passes += verdictOf(at) === "pass" ? 1 : 0;
    if (squares.length < 24) squares.push(el("span", { class: `square tone-v-${verdictTone(verdictOf(at))}${matching(at) ? "" : " faded"}`, title: words(verdictOf(at)) }));
  }
  const all = group.end - group.start;
  const button = el("button", { type: "button", "data-place": place, tabindex: place === 0 ? 0 : -1 },
    el("span", { class: "name" }, brief(index.tasks[group.task], 60)),
    el("span", { class: "squares", "aria-hidden": "true" }, squares),
    el("span", { class: "detail" }, `step ${group.step} \u00b7 ${passes} of ${all} pass${group.dead ? " \u00b7 dead" : ""}`));
  button.addEventListener("click", () => choose(place));
  return el("li", {}, button);
}

function buttonAt(place) {
  return byId("groups").querySelector(`[data-place="${place}"]`);
}

/** Chooses a group of those found and shows it. */
async function choose(place) {
  while (place >= listed && listed < found.length) listMore();
  const group = found[place];
  for (const button of byId("groups").querySelectorAll("[aria-current]")) adorn(button, { tabindex: -1 }).removeAttribute("aria-current");
  adorn(buttonAt(place), { "aria-current": "true", tabindex: 0 });
  chosen = place;
  const numbers = Array.from({ length: group.end - group.start }, (_, at) => group.start + at).slice(0, 64);
  const [task, ...completions] = await Promise.all([taskOf(group.task), ...numbers.map(completion)]);
  if (chosen !== place || found[place] !== group) return;
  const entries = numbers.map((at) => ({ sample: index.sample[at], verdict: verdictOf(at), reward: index.reward[at], advantage: index.advantage[at], matches: matching(at) }));
  replace(byId("group"), el("h3", {}, brief(index.tasks[group.task], 200)), el("p", { class: "quiet" }, `Step ${group.step}, ${counted(entries.length, "sample")}`, group.dead && ". Dead: all rewards are equal, so nothing is learnt from it."),
    statement(task), occurrences(group), el("div", { class: "samples" }, entries.map((entry, at) => sampleCard(entry, completions[at], task))), comparison(entries, completions));
}

/** The same task in other steps. */
function occurrences(group) {
  const others = groups.filter((it) => it.task === group.task);
  if (others.length < 2) return null;
  const links = others.slice(0, 40).map((it) => {
    const passes = index.verdict.slice(it.start, it.end).filter((verdict) => index.verdicts[verdict] === "pass").length;
    const link = el("button", { type: "button", class: "chip", "aria-pressed": String(it === group) }, `step ${it.step}: ${passes} of ${it.end - it.start}`);
    link.addEventListener("click", () => show({ step: String(it.step), task: index.tasks[it.task] }));
    return link;
  });
  return el("div", { class: "chips", role: "group", "aria-label": "This task in other steps" }, links);
}

/** Sets filters and looks. */
function show({ step = "", task = "" }) {
  Object.assign(wanted, { step, task, groups: "", text: "" });
  wanted.verdicts.clear();
  for (const chip of byId("filter-verdicts").children) chip.setAttribute("aria-pressed", "false");
  for (const [id, value] of [["filter-step", step], ["filter-task", task], ["filter-groups", ""], ["filter-text", ""]]) byId(id).value = value;
  return find();
}

/** From a curve to the completions of one of its steps, or the nearest step that has texts. */
function openStep(step) {
  if (index === null || index.step.length === 0) return;
  const steps = [...new Set(index.step)].sort((a, b) => a - b);
  show({ step: String(steps[nearest(steps, step)]) });
  byId("completions-title").scrollIntoView();
  byId("completions-title").focus({ preventScroll: true });
}

function listenToFilters() {
  let waiting = 0;
  const listen = (id, event, key) => byId(id).addEventListener(event, () => {
    wanted[key] = byId(id).value;
    clearTimeout(waiting);
    waiting = setTimeout(find, event === "input" ? 200 : 0);
  });
  listen("filter-step", "change", "step");
  listen("filter-groups", "change", "groups");
  listen("filter-task", "input", "task");
  listen("filter-text", "input", "text");
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
  if (!(event.key in moves) || found.length === 0) return;
  event.preventDefault();
  const place = Math.max(0, Math.min(Math.min(found.length, listed + 1) - 1, (chosen ?? 0) + moves[event.key]));
  choose(place);
  buttonAt(place).focus();
}

async function start() {
  const feed = await unpack("feed");
  ingest(feed.split("\n").filter(Boolean).map((line) => JSON.parse(line)));
  if (document.readyState === "loading") await new Promise((done) => document.addEventListener("DOMContentLoaded", done));
  readIndex(JSON.parse(await unpack("index")));
  byId("completions").hidden = index.step.length === 0;
  if (index.step.length > 0) {
    drawFilters();
    listenToFilters();
    await show({ step: String(index.step.at(-1)) });
  }
  document.documentElement.dataset.ready = "true";
}

// What a page that is served while a run goes on calls with what is new.
window.whet = { ingest };
start().catch((err) => {
  document.documentElement.dataset.ready = "failed";
  document.querySelector("main").prepend(el("p", { class: "notice" }, `This page could not be drawn: ${brief(err.message, 300)}`));
  throw err;
});
