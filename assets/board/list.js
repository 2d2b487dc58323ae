// The list of runs: asks how they stand, and changes what has changed.

/** How long until the next question, in ms. */
const PACE = { looked_at: 2000, hidden: 60_000 };
const PATIENCE_MS = 30_000;

let waiting = 0;
let isAsking = false;

async function ask() {
  if (isAsking) return;
  isAsking = true;
  clearTimeout(waiting);
  try {
    const answer = await fetch("/list", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    if (answer.ok) show(await answer.json());
    else say("lost", brief(await answer.text(), 300));
  } catch {
    say("lost", "The board does not answer. Trying again.");
  }
  isAsking = false;
  waiting = setTimeout(ask, document.hidden ? PACE.hidden : PACE.looked_at);
}

function show({ runs, unreadable }) {
  const rows = byId("runs");
  const names = new Set(runs.map((it) => it.name));
  for (const row of [...rows.children]) {
    if (!names.has(row.dataset.run)) row.remove();
  }
  runs.forEach((run, at) => {
    if (rows.children[at]?.dataset.run !== run.name) rows.insertBefore(newRow(run.name), rows.children[at] ?? null);
    const cells = [...rows.children[at].querySelectorAll("td")];
    values(run).forEach((value, column) => refresh(cells[column], value));
  });
  byId("none").hidden = runs.length > 0;
  document.querySelector(".runs").hidden = runs.length === 0;
  refresh(byId("unreadable"), unreadable.map((it) =>
    el("p", { class: "notice" }, el("b", {}, brief(it.name, 100)), " cannot be shown: ", brief(it.error, 400))));
  const going = runs.filter((it) => it.state === "running").length;
  say(going > 0 ? "running" : "ended", going > 0 ? `${going} running` : "None is running");
}

/** The head of a row stays, so that a link keeps the focus. */
function newRow(name) {
  // Names of runs have no character that means something in an address.
  const link = el("a", { href: `/runs/${name}` }, brief(name, 100));
  const heads = [...document.querySelectorAll("thead th")].slice(1);
  const cells = heads.map((head) => el("td", { class: head.className, "data-name": head.textContent }));
  return el("tr", { "data-run": name }, el("th", { scope: "row" }, link), cells);
}

function values(run) {
  const measured = (name, format) => (Number.isFinite(run.values[name]) ? format(run.values[name]) : "\u2013");
  const pulse = el("span", { class: "pulse", "aria-hidden": "true" });
  return [
    el("span", { class: "state", "data-state": run.state }, pulse, run.state),
    brief(run.stage ?? "\u2013", 20),
    run.step ?? "\u2013",
    measured("grpo/mean_reward", figure),
    measured("grpo/pass_rate", percent),
    run.alarms,
    run.warnings,
    `${(run.bytes / 1e6).toFixed(1)} MB`,
    run.last_ms === null ? "\u2013" : ago(run.last_ms),
  ];
}

function ago(time_ms) {
  const seconds = Math.max(0, Math.floor((Date.now() - time_ms) / 1000));
  if (seconds < 120) return `${seconds} s ago`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ago`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h ago` : `${Math.floor(seconds / 86_400)} days ago`;
}

function say(state, text) {
  const [, said, time] = byId("live").children;
  byId("live").dataset.state = state;
  refresh(said, text);
  if (state !== "lost") refresh(time, `updated ${new Date().toTimeString().slice(0, 8)}`);
  document.documentElement.dataset.ready = "true";
}

document.addEventListener("visibilitychange", () => !document.hidden && ask());
ask();
