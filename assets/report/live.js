// Asks for what is new while the page is open, and says how the run stands.

/** How long until the next question, in ms. */
const PACE = { running: 1000, ended: 10_000, hidden: 60_000, unanswered: 3000, more: 0 };
const PATIENCE_MS = 30_000;
/** A page that was just loaded is not loaded again at once. */
const YOUNG_MS = 5000;

const FULL = "This page holds as many completions as it can. Reload it to read newer ones.";

/** What the page begins with, and its cursor. */
let live = null;
let waiting = 0;
let isAsking = false;

async function follow() {
  live = { ...JSON.parse(await unpack("start")), steps: 0 };
  expectTasks(live.places);
  const dot = el("span", { class: "pulse", "aria-hidden": "true" });
  const [said, time] = [el("span", { role: "status" }), el("span", { class: "quiet" })];
  byId("subtitle").after(el("p", { id: "live" }, dot, said, time));
  refresh(document.querySelector(".kind"), el("a", { href: "/" }, "All runs"));
  refresh(document.querySelector("footer p"),
    "Served by ", el("code", {}, "whet board"), ". It holds hidden tests of the tasks: show it to people, not " +
    "to a model that is measured by them.");
  document.addEventListener("visibilitychange", () => !document.hidden && ask());
  await ask();
}

/** Asks once, takes in what came, and asks again later. */
async function ask() {
  if (isAsking) return;
  isAsking = true;
  clearTimeout(waiting);
  let pace = PACE.unanswered;
  try {
    pace = await takeNews(await fetchNews());
  } catch (err) {
    say("lost", err instanceof Refused ? err.message : "The board does not answer. Trying again.");
  }
  isAsking = false;
  if (pace === null) return;
  waiting = setTimeout(ask, document.hidden ? PACE.hidden : pace);
}

/** The board answered, and what it said is why there is nothing new. */
class Refused extends Error {}

async function fetchNews() {
  const isFull = index.step.length >= live.max_completions || live.text_bytes >= live.max_text_bytes;
  const asked = `${location.pathname}/feed?from=${live.cursor}${isFull ? "&texts=none" : ""}`;
  const answer = await fetch(asked, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  if (!answer.ok) throw new Refused(brief(await answer.text(), 300));
  if (isFull) refresh(byId("completions-lead"), FULL);
  return answer.json();
}

/** Takes in what came; returns when to ask again, or nothing if there is no use. */
async function takeNews(news) {
  if (news.moved) return startAnew();
  live.cursor = news.cursor;
  if (news.records.length > 0) ingest(news.records);
  if (news.completions) {
    live.text_bytes += news.completions.text_bytes;
    await takeCompletions(news.completions);
  }
  await extendFound();
  live.steps += news.records.filter((it) => it.type === "metrics").length;
  if (live.steps > live.max_steps) {
    say("lost", "This page cannot hold more steps. Reload it to continue.");
    return null;
  }
  sayState(news.is_written);
  document.documentElement.dataset.updated = live.cursor;
  if (news.more) return PACE.more;
  return news.is_written ? PACE.running : PACE.ended;
}

/** Another run has this name now. */
function startAnew() {
  say("lost", "The run was started again. Loading it.");
  if (performance.now() < YOUNG_MS) return PACE.unanswered;
  location.reload();
  return null;
}

function sayState(isWritten) {
  if (isWritten) say("running", "Live");
  else if (known.finished) say("ended", `The run ended: ${brief(known.finished.outcome, 20)}`);
  else say("ended", "No process is writing this run: it was stopped before its end");
}

/** Says how the run stands, and when that was known. */
function say(state, text) {
  const [, said, time] = byId("live").children;
  byId("live").dataset.state = state;
  refresh(said, text);
  if (state !== "lost") refresh(time, `updated ${new Date().toTimeString().slice(0, 8)}`);
}

started.then(follow).catch((err) => {
  document.documentElement.dataset.ready = "failed";
  throw err;
});
