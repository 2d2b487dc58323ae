// A reply to a Phaser task: its program with the findings at their lines, what came of running it, and its last frame.

/** Lines of a program that have a line of their own in the page. */
const LISTED_LINES = 800;
const STAGES = {
  load: "failed while its source was being run",
  boot: "failed while the game was being started",
  frames: "failed while frames were passing",
  done: "all frames passed",
};
const FAILURES = {
  fault: "its own fault",
  env_limit: "it needs what is not here: WebGL, frames of a texture, or files",
  timeout: "it used up its time",
  memory: "it used up its memory",
  stack: "it called itself too deep",
  tampering: "it changed what it is measured with",
};
const CHECK_TONES = { passed: "v-pass", failed: "v-wrong", not_measurable: "v-none" };

function isGame(shown) {
  return shown.validation?.kind === "phaser";
}

/** The program on one side, what is known of it on the other. */
function game(shown) {
  const facts = shown.validation.facts;
  return el("div", { class: "game" },
    prompted(shown),
    el("div", { class: "game-parts" },
      el("div", {}, gameProgram(shown, notesOf(facts)), facts.runtime && lastFrame(facts.runtime)),
      el("div", {}, gameFindings(shown, facts))));
}

/** What was asked and thought, folded; of several turns all. */
function prompted({ turns, text }) {
  if (!turns) return null;
  const { thinking } = splitThinking(text);
  const reasoning = [turns.at(-1).reasoning, thinking].filter(Boolean).join("\n");
  return [turns.flatMap((it, at) => asked({ ...it, at })), folded("Thinking", reasoning, "asked")];
}

function gameProgram(shown, notes) {
  if (shown.program === undefined) return [el("p", { class: "note" }, "There is no program in this reply:"), reply(shown.text)];
  const left = shown.program_cut_bytes?.toLocaleString("en");
  return [
    listing(shown.program, notes),
    left && el("p", { class: "note" }, `${left} more bytes of the program are in the run's rollouts.`),
    folded("The whole reply", shown.text, "asked"),
  ];
}

/** A program with line numbers, and the notes of each line below it. */
function listing(source, notes) {
  const lines = source.split("\n");
  const listed = lines.slice(0, LISTED_LINES).map((line, at) => codeLine(line, at + 1, notes.get(at + 1)));
  const rest = lines.slice(LISTED_LINES).join("\n");
  const label = "Program with findings";
  return el("pre", { class: "listing", tabindex: 0, "aria-label": label }, listed, visible(rest));
}

function codeLine(line, number, notes = []) {
  return [
    el("span", { class: `code-line${notes.length > 0 ? " marked" : ""}`, "data-line": number }, markedNames(line, notes), "\n"),
    notes.map(({ text, tone }) => el("span", { class: `line-note tone-${tone}` }, text, "\n")),
  ];
}

/** A line in which the names that notes are about stand out. */
function markedNames(line, notes) {
  const letters = [...line];
  const named = notes.map(({ column, name }) => ({ from: (column ?? 0) - 1, name: [...(name ?? "")] }))
    .filter(({ from, name }) => from >= 0 && name.length > 0 && letters.slice(from, from + name.length).join("") === name.join(""))
    .sort((one, other) => one.from - other.from);
  const parts = [];
  let at = 0;
  for (const { from, name } of named) {
    if (from < at) continue;
    parts.push(visible(letters.slice(at, from).join("")), el("mark", {}, visible(name.join(""))));
    at = from + name.length;
  }
  return [...parts, visible(letters.slice(at).join(""))];
}

/** Notes by line: [{ text, tone, column, name }]. */
function notesOf({ parse, api, runtime }) {
  const notes = new Map();
  const note = (line, text, tone, place = {}) => {
    if (!notes.has(line)) notes.set(line, []);
    notes.get(line).push({ text: brief(text, 300), tone, ...place });
  };
  for (const it of parse?.errors ?? []) note(it.line, `does not parse: ${it.message}`, "v-syntax");
  for (const it of api?.unknown ?? []) {
    note(it.line, `unknown name: ${unknownText(it)}`, "v-syntax", { column: it.column, name: lastName(it.what) });
  }
  for (const it of api?.few_args ?? []) note(it.line, `too few arguments: ${fewText(it)}`, "v-wrong", { column: it.column, name: lastName(it.what) });
  if (runtime && !runtime.ok && runtime.line !== null) note(runtime.line, runtime.error ?? "fails here", "v-raised");
  return notes;
}

function lastName(what) {
  return what.split(".").at(-1);
}

function unknownText({ what, nearest }) {
  return `${what}${nearest === null ? "" : `; nearest: ${nearest}`}`;
}

function fewText({ what, given, needed }) {
  return `${what} needs ${needed}, ${given} given`;
}

/** Everything that is known, part by part; nothing is said of what was not looked at. */
function gameFindings(shown, facts) {
  const { format, parse, api, lifecycle, runtime, task, unreadable } = facts;
  const { solved } = shown.validation;
  const wrong = unreadable?.map(words).join(", ");
  return [
    el("p", { class: solved ? "passing" : "failing" }, solved ? "Solved" : "Not solved", checkCount(task)),
    el("dl", { class: "findings" },
      format && formatFindings(format),
      parse && syntaxFinding(parse),
      parse?.ok && api && apiFindings(api),
      parse?.ok && lifecycle && lifecycleFinding(lifecycle),
      runtime && runFindings(runtime)),
    !runtime && el("p", { class: "note" }, "The program was not run."),
    wrong && el("p", { class: "note" }, `In a form that this page cannot read: ${wrong}.`),
    task && task.length > 0 && checkList(task),
  ];
}

function checkCount(task) {
  if (!task || task.length === 0) return "";
  const passed = task.filter((it) => it.outcome === "passed").length;
  return `: ${passed} of ${counted(task.length, "check")} passed`;
}

/** A finding: its name, whether it is as it should be, in words with a colour, and its places. */
function finding(name, isGood, text, items = []) {
  const tone = isGood ? "v-pass" : "v-syntax";
  return [
    el("dt", {}, name),
    el("dd", {}, key(tone), text, items.length > 0 && el("ul", {}, items.map((it) => el("li", {}, it)))),
  ];
}

function placeOf({ line, column }, text) {
  return `line ${line}, column ${column}: ${brief(text, 300)}`;
}

function formatFindings({ code, block, plan }) {
  const said = block ? "a closed block of JavaScript" : "not in a closed block of JavaScript";
  const worth = plan === null ? "none" : `earns ${figure(plan)} of 1`;
  return [finding("Program", block, code ? said : "none"), finding("Plan", plan !== null && plan > 0, worth)];
}

function syntaxFinding({ ok, mode, errors }) {
  const said = ok ? `parses as a ${brief(mode, 20)}` : "does not parse";
  return finding("Syntax", ok, said, errors.map((it) => placeOf(it, it.message)));
}

function apiFindings({ resolved, unknown, few_args: few }) {
  const known = counted(resolved, "known use");
  const names = `${known}, ${unknown.length === 0 ? "no unknown name" : counted(unknown.length, "unknown name")}`;
  const places = unknown.map((it) => placeOf(it, unknownText(it)));
  const calls = few.map((it) => placeOf(it, fewText(it)));
  return [
    finding("Phaser's names", unknown.length === 0 && resolved > 0, names, places),
    few.length > 0 && finding("Arguments", false, `${counted(few.length, "call")} with too few`, calls),
  ];
}

function lifecycleFinding({ preload, create, update, scene_class: scene, new_game: made }) {
  const parts = [["preload", preload], ["create", create], ["update", update], ["a scene class", scene], ["new Phaser.Game", made]];
  const there = parts.filter(([, is]) => is).map(([name]) => name);
  return finding("Lifecycle", create && made, there.length > 0 ? there.join(", ") : "none of its parts",
    [!create && "no scene has create", !made && "no game is made"].filter(Boolean));
}

function runFindings({ ok, stage, class: failure, error, line, frames, scenes, assets, object_count: objects }) {
  const how = ok ? `all ${counted(frames, "frame")} passed` : `${STAGES[stage] ?? brief(words(stage), 40)}, after ${counted(frames, "frame")}`;
  const place = line === null ? "" : `line ${line}: `;
  const why = [
    failure && (FAILURES[failure] ?? brief(words(failure), 40)),
    error && `${place}${brief(error, 300)}`,
    ok && objects === 0 && "nothing is to be seen",
  ].filter(Boolean);
  return [
    finding("Run", ok && objects > 0, how, why),
    scenes.length > 0 && [el("dt", {}, "Scenes"), el("dd", {}, scenes.map((it) => brief(it, 60)).join(", "))],
    assets.length > 0 && [el("dt", {}, "Files asked for"), el("dd", {}, assets.map((it) => brief(it, 120)).join(", "))],
  ];
}

/** The task's checks as sentences, with what came of each. */
function checkList(task) {
  const items = task.map(({ check, outcome, reason }) => el("li", {},
    el("span", { class: "badge" }, key(CHECK_TONES[outcome] ?? "v-odd"), brief(words(outcome), 30)),
    el("span", {}, brief(check, 400), reason && el("span", { class: "quiet" }, ` (${brief(reason, 300)})`))));
  return [el("h5", {}, "Checks of the task"), el("ul", { class: "checks" }, items)];
}
