// The samples of one group, side by side: verdict, failing test, reward, text; and how two differ.

/** Longest texts that are compared, in lines. */
const DIFF_LINES = 800;

function badge(verdict) {
  return el("span", { class: "badge" }, el("span", { class: `key tone-v-${verdictTone(verdict)}` }), words(verdict));
}

function signed(value) {
  return `${value > 0 ? "+" : ""}${figure(value)}`;
}

/** One sample: `entry` is what the index says, `shown` the completion, `task` what was asked, if known. */
function sampleCard(entry, shown, task) {
  const facts = [
    ["reward", entry.reward === null ? "\u2013" : figure(entry.reward)],
    ["advantage", entry.advantage === null ? "\u2013" : signed(entry.advantage)],
    ["tokens", shown.tokens ?? "\u2013"],
    ["ended by", { length: "the token limit", stop: "itself" }[shown.finish] ?? brief(shown.finish ?? "\u2013", 20)],
  ];
  return el("section", { class: `sample${entry.matches ? "" : " faded"}`, "data-verdict": entry.verdict, "aria-label": `Sample ${entry.sample ?? ""}, ${words(entry.verdict)}` },
    el("h4", {}, `Sample ${entry.sample ?? "\u2013"} `, badge(entry.verdict)),
    el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    failing(shown, task), rewardTable(shown.reward),
    (shown.earlier ?? []).map((text, at) => el("details", {}, el("summary", {}, `Turn ${at + 1}`), reply(text))),
    reply(shown.text), shown.cut_bytes && el("p", { class: "note" }, `${shown.cut_bytes.toLocaleString("en")} more bytes are in the run's rollouts.`));
}

/** A reply; thinking is quieter than what follows it. */
function reply(text) {
  const end = text.indexOf("</think>");
  const at = end < 0 ? 0 : end + "</think>".length;
  return el("pre", { class: "reply", tabindex: 0 }, at > 0 && el("span", { class: "thinking" }, visible(text.slice(0, at))), visible(text.slice(at)));
}

/** What the judge saw, and the test that failed. */
function failing(shown, task) {
  if (shown.error) return el("p", { class: "failing" }, `Could not be judged, so it has no reward: ${brief(shown.error, 300)}`);
  const seen = shown.validation;
  if (!seen) return el("p", { class: "failing" }, "It was not run.");
  const passed = `${seen.tests_passed} of ${seen.tests_total} tests pass`;
  if (seen.verdict === "pass") return el("p", { class: "passing" }, `${passed}, ${figure(seen.cpu_ms)} ms`);
  const kind = seen.kind ? ` (${brief(seen.kind, 60)})` : "";
  const signal = seen.signal ? ` (signal ${seen.signal})` : "";
  if (seen.test === undefined) return el("p", { class: "failing" }, `${words(seen.verdict)}${kind}${signal}; ${passed}`);
  const test = task?.tests?.hidden?.[seen.test];
  return el("div", { class: "failing" },
    el("p", {}, `Test ${seen.test + 1} of ${seen.tests_total} is the first that fails: ${words(seen.verdict)}${kind}; ${passed}`),
    test === undefined ? el("p", { class: "note" }, "The test itself is not in this page: name the tasks with --tasks.") : testText(test, task.tests));
}

function json(value) {
  return brief(JSON.stringify(value), 1500);
}

/** A test of any kind as text. */
function testText(test, { kind, entry_point: entry }) {
  if (kind === "calls") {
    const named = Object.entries(test.kwargs ?? {}).map(([name, value]) => `${brief(name, 60)}=${json(value)}`);
    const call = `${brief(entry, 80)}(${[...(test.args ?? []).map(json), ...named].join(", ")})`;
    return el("dl", { class: "test" }, el("dt", {}, "call"), el("dd", {}, call), el("dt", {}, "expected"), el("dd", {}, json(test.expected)));
  }
  if (kind === "stdio") {
    return el("dl", { class: "test" }, el("dt", {}, "reads"), el("dd", {}, brief(test.input, 1500)), el("dt", {}, "expected"), el("dd", {}, brief(test.output, 1500)));
  }
  return el("pre", { class: "test" }, brief(test, 3000));
}

function rewardTable(reward) {
  if (!reward) return null;
  const terms = Object.entries(reward.terms).map(([name, value]) => {
    const weight = reward.weights?.[name] ?? 1;
    return el("tr", {}, el("th", { scope: "row" }, brief(words(name), 40)), el("td", {}, figure(value)), el("td", {}, `\u00d7 ${figure(weight)}`), el("td", {}, figure(value * weight)));
  });
  const gates = Object.entries(reward.gates ?? {}).filter(([, gate]) => !gate.passed)
    .map(([name, gate]) => el("tr", { class: "gate" }, el("th", { scope: "row" }, `gate ${brief(words(name), 40)}`), el("td", { colspan: 2 }, "failed, at most"), el("td", {}, figure(gate.cap))));
  const total = el("tr", { class: "total" }, el("th", { scope: "row" }, "reward"), el("td", { colspan: 2 }), el("td", {}, figure(reward.total)));
  return el("details", { class: "terms" }, el("summary", {}, `Reward ${figure(reward.total)} by term`), el("table", {}, el("tbody", {}, terms, gates, total)));
}

/** What was asked, with its visible tests. */
function statement(task) {
  if (!task) return el("p", { class: "note" }, "What was asked is not in this page. Make it again with the run's tasks: whet report RUN --tasks FILE");
  const shown = (task.tests?.visible ?? []).slice(0, 4).map((it) => el("li", {}, testText(it, task.tests)));
  return el("div", { class: "statement" }, el("p", {}, withCode(visible(task.statement))),
    shown.length > 0 && el("details", {}, el("summary", {}, `Tests that the prompt shows (${shown.length})`), el("ul", {}, shown)));
}

/** Text in which what stands between backticks is code. */
function withCode(text) {
  const parts = text.split("`");
  return parts.length % 2 === 0 ? text : parts.map((part, at) => at % 2 === 1 ? el("code", {}, part) : part);
}

/** Two samples of the group, compared line by line. */
function comparison(entries, completions) {
  if (entries.length < 2) return null;
  const pick = (label, chosen) => {
    const options = entries.map((entry, at) => el("option", { value: at, selected: at === chosen }, `Sample ${entry.sample ?? at}: ${words(entry.verdict)}`));
    return el("label", {}, `${label} `, el("select", { "aria-label": `${label} sample` }, options));
  };
  const passing = entries.findIndex((it) => it.verdict === "pass");
  const failed = entries.findIndex((it) => it.verdict !== "pass");
  const [one, other] = passing >= 0 && failed >= 0 ? [failed, passing] : [0, 1];
  const [left, right] = [pick("From", one), pick("to", other)];
  const out = el("pre", { class: "diff", tabindex: 0, "aria-label": "Difference" });
  const update = () => {
    const chosen = [left, right].map((it) => completions[Number(it.querySelector("select").value)].text);
    replace(out, diffLines(...chosen));
  };
  left.addEventListener("change", update);
  right.addEventListener("change", update);
  update();
  return el("section", { class: "compare" }, el("h4", {}, "Difference between two samples"), el("div", { class: "picks" }, left, right), out);
}

function diffLines(one, other) {
  const [before, after] = [one.split("\n"), other.split("\n")];
  if (before.length > DIFF_LINES || after.length > DIFF_LINES) return "These samples are too long to compare here.";
  if (one === other) return "They are the same.";
  return difference(before, after).map(([mark, line]) => el("span", { class: { "-": "gone", "+": "come" }[mark] ?? "same" }, `${mark} ${visible(line)}\n`));
}

/** The shortest way from one list of lines to the other, by their longest common subsequence. */
function difference(before, after) {
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let a = before.length - 1; a >= 0; a -= 1) {
    for (let b = after.length - 1; b >= 0; b -= 1) {
      common[a][b] = before[a] === after[b] ? common[a + 1][b + 1] + 1 : Math.max(common[a + 1][b], common[a][b + 1]);
    }
  }
  const lines = [];
  let [a, b] = [0, 0];
  while (a < before.length || b < after.length) {
    if (a < before.length && b < after.length && before[a] === after[b]) lines.push([" ", before[a++], b++]);
    else if (b >= after.length || (a < before.length && common[a + 1][b] >= common[a][b + 1])) lines.push(["-", before[a++]]);
    else lines.push(["+", after[b++]]);
  }
  return lines;
}
