// The samples of one group, side by side: verdict, failing test, reward, text; and how two differ.

/** Longest texts that are compared, in lines. */
const DIFF_LINES = 800;
/** What ended a completion, in words. */
const ENDS = { length: "the token limit", stop: "itself" };

function badge(verdict) {
  return el("span", { class: "badge" }, key(verdictTone(verdict)), words(verdict));
}

function orDash(value, format = figure) {
  return value === null || value === undefined ? "\u2013" : format(value);
}

function signed(value) {
  return `${value > 0 ? "+" : ""}${figure(value)}`;
}

/** A sample's name for people, who count from 1; files count from 0. */
function sampleName(sample) {
  return `Sample ${orDash(sample, (it) => String(it + 1))}`;
}

/** One sample: `entry` is what the index says, `shown` the completion, `task` what was asked, if known. */
function sampleCard(entry, shown, task) {
  const facts = [
    ["reward", orDash(entry.reward)],
    ["advantage", orDash(entry.advantage, signed)],
    ["tokens", orDash(shown.tokens)],
    ["ended by", orDash(shown.finish, (it) => ENDS[it] ?? brief(it, 20))],
  ];
  const name = sampleName(entry.sample);
  const left = shown.cut_bytes?.toLocaleString("en");
  return el("section",
    {
      class: `sample${shown.turns || isGame(shown) ? " episode" : ""}${entry.matches ? "" : " faded"}`,
      "data-verdict": entry.verdict,
      "aria-label": `${name}, ${words(entry.verdict)}`,
    },
    el("h4", {}, name, " ", badge(entry.verdict)),
    el("dl", { class: "facts" }, facts.map(([it, value]) => el("div", {}, el("dt", {}, it), el("dd", {}, value)))),
    isGame(shown) ? game(shown) : [shown.turns && episode(shown), failing(shown, task)],
    rewardTable(shown.reward, shown.turns !== undefined || isGame(shown)),
    !shown.turns && !isGame(shown) && reply(shown.text),
    left && el("p", { class: "note" }, `${left} more bytes are in the run's rollouts.`));
}

/** A reply; thinking is quieter than what follows it. */
function reply(text) {
  const end = text.indexOf("</think>");
  const at = end < 0 ? 0 : end + "</think>".length;
  const thinking = at > 0 && el("span", { class: "thinking" }, visible(text.slice(0, at)));
  return el("pre", { class: "reply", tabindex: 0 }, thinking, visible(text.slice(at)));
}

/** What the judge saw, and the test that failed. */
function failing(shown, task) {
  const said = (text) => el("p", { class: "failing" }, text);
  if (shown.error) return said(`Could not be judged, so it has no reward: ${brief(shown.error, 300)}`);
  const seen = shown.validation;
  if (!seen) return said("It was not run.");
  if (seen.solved !== undefined) return observed(seen);
  const passed = `${seen.tests_passed} of ${seen.tests_total} tests pass`;
  if (seen.verdict === "pass") return el("p", { class: "passing" }, `${passed}, ${figure(seen.cpu_ms)} ms`);
  const kind = seen.kind ? ` (${brief(seen.kind, 60)})` : "";
  const signal = seen.signal ? ` (signal ${seen.signal})` : "";
  const cause = shown.cause && shown.cause !== seen.kind ? `, ${words(shown.cause)}` : "";
  const what = `${words(seen.verdict)}${cause}${kind}${signal}; ${passed}`;
  if (seen.test === undefined) return said(what);
  const test = task?.tests?.hidden[seen.test];
  const got = seen.got === undefined ? [] : [["got", seen.got]];
  const parts = [...(test ?? []), ...got];
  return el("div", { class: "failing" },
    el("p", {}, `Test ${seen.test + 1} of ${seen.tests_total} is the first that fails: ${what}`),
    parts.length > 0 && testText(parts),
    test ? null : el("p", { class: "note" }, "The test itself is not in this page."));
}

/** What an environment saw that runs no programs: whether the task is solved, and its own facts. */
function observed(seen) {
  const facts = Object.entries(seen.facts ?? {}).map(([name, value]) => [name, brief(JSON.stringify(value), 300)]);
  return el("div", { class: seen.solved ? "passing" : "failing" },
    el("p", {}, `${seen.solved ? "Solved" : "Not solved"} (${brief(seen.kind, 60)})`),
    facts.length > 0 && testText(facts));
}

/** A test: its parts, each with a name. */
function testText(parts) {
  return el("dl", { class: "test" }, parts.map(([name, text]) => [el("dt", {}, name), el("dd", {}, visible(text))]));
}

/** A reward by its terms; at the end of an episode it is open. */
function rewardTable(reward, isOpen) {
  if (!reward) return null;
  const terms = Object.entries(reward.terms).map(([name, value]) => {
    const weight = reward.weights?.[name] ?? 1;
    return [brief(words(name), 40), figure(value), `\u00d7 ${figure(weight)}`, figure(value * weight)];
  });
  const all = Object.entries(reward.gates ?? {});
  const failed = all.filter(([, gate]) => !gate.passed);
  const passed = all.filter(([, gate]) => gate.passed).map(([name]) => brief(words(name), 40)).join(", ");
  const gates = failed.map(([name, gate]) => [`gate ${brief(words(name), 40)}`, "failed", "at most", figure(gate.cap)]);
  const rows = [...terms, ...gates, [el("b", {}, "reward"), "", "", el("b", {}, figure(reward.total))]];
  return el("details", { open: isOpen }, el("summary", {}, `Reward ${figure(reward.total)} by term`), table(null, null, rows),
    passed && el("p", { class: "note" }, `Gates passed: ${passed}.`));
}

/** What was asked, with its visible tests. */
function statement(task) {
  if (!task) {
    const how = "What was asked is not in this page: whet report RUN --tasks FILE puts it there.";
    return el("p", { class: "note" }, how);
  }
  const shown = (task.tests?.visible ?? []).map((it) => el("li", {}, testText(it)));
  return el("div", { class: "statement" },
    el("p", {}, withCode(visible(task.statement))),
    shown.length > 0 && el("details", {}, el("summary", {}, "Tests that the prompt shows"), el("ul", {}, shown)));
}

/** Text in which what stands between backticks is code. */
function withCode(text) {
  const parts = text.split("`");
  return parts.length % 2 === 0 ? text : parts.map((part, at) => (at % 2 === 1 ? el("code", {}, part) : part));
}

/** Two samples of the group, compared line by line: at first one that fails and one that passes. */
function comparison(entries, completions) {
  if (entries.length < 2) return null;
  const passing = entries.findIndex((it) => isPass(it.verdict));
  const failed = entries.findIndex((it) => !isPass(it.verdict));
  const [one, other] = passing >= 0 && failed >= 0 ? [failed, passing] : [0, 1];
  const [left, right] = [choice("From", entries, one), choice("to", entries, other)];
  const out = el("pre", { class: "diff", tabindex: 0, "aria-label": "Difference" });
  const update = () => {
    const texts = [left, right].map((it) => allText(completions[Number(it.querySelector("select").value)]));
    replace(out, diffLines(...texts));
  };
  left.addEventListener("change", update);
  right.addEventListener("change", update);
  update();
  return el("section", { class: "compare" },
    el("h4", {}, "Difference between two samples"), el("div", { class: "picks" }, left, right), out);
}

function choice(label, entries, chosen) {
  const options = entries.map((entry, at) =>
    el("option", { value: at, selected: at === chosen }, `${sampleName(entry.sample ?? at)}: ${words(entry.verdict)}`));
  return el("label", {}, label, " ", el("select", { "aria-label": `${label} sample` }, options));
}

function diffLines(one, other) {
  const [before, after] = [one.split("\n"), other.split("\n")];
  if (Math.max(before.length, after.length) > DIFF_LINES) return "These samples are too long to compare here.";
  if (one === other) return "They are the same.";
  const kinds = { "-": "gone", "+": "come", " ": "same" };
  return difference(before, after).map(([mark, line]) =>
    el("span", { class: kinds[mark] }, `${mark} ${visible(line)}\n`));
}

/** The shortest way from one list of lines to the other, by their longest common subsequence. */
function difference(before, after) {
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let a = before.length - 1; a >= 0; a -= 1) {
    for (let b = after.length - 1; b >= 0; b -= 1) {
      const same = before[a] === after[b];
      common[a][b] = same ? common[a + 1][b + 1] + 1 : Math.max(common[a + 1][b], common[a][b + 1]);
    }
  }
  const lines = [];
  let [a, b] = [0, 0];
  while (a < before.length && b < after.length) {
    if (before[a] === after[b]) {
      lines.push([" ", before[a]]);
      [a, b] = [a + 1, b + 1];
    } else if (common[a + 1][b] >= common[a][b + 1]) {
      lines.push(["-", before[a]]);
      a += 1;
    } else {
      lines.push(["+", after[b]]);
      b += 1;
    }
  }
  return [...lines, ...before.slice(a).map((it) => ["-", it]), ...after.slice(b).map((it) => ["+", it])];
}
