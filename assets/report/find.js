// The index of completions: what is asked for, and which groups and samples answer it.

/** The index by columns, and its groups: { start, end, step, task, dead }. */
let index = null;
let groups = [];
/** For each chunk the number of its first completion. */
let chunkStarts = [];
/** What is asked for. */
const wanted = { step: "", task: "", groups: "", text: "", verdicts: new Set() };
/** Counts searches, so that an older one stops when a newer begins. */
let search = 0;

function readIndex(read) {
  index = read;
  chunkStarts = [];
  let start = 0;
  for (const count of index.chunks) {
    chunkStarts.push(start);
    start += count;
  }
  groups = [];
  groupFrom(0);
}

/** Puts completions from a number on into groups. */
function groupFrom(first) {
  const changed = new Set();
  for (let at = first; at < index.step.length; at += 1) {
    const [step, task, last] = [index.step[at], index.task[at], groups.at(-1)];
    if (last && last.step === step && last.task === task) last.end = at + 1;
    else groups.push({ start: at, end: at + 1, step, task });
    changed.add(groups.at(-1));
  }
  for (const group of changed) group.dead = isDead(group);
}

/** The completions of a group, by number. */
function members({ start, end }) {
  return Array.from({ length: end - start }, (_, at) => start + at);
}

/** Whether it gives no gradient: as its advantages say, or where there are none, its rewards. */
function isDead(group) {
  const advantages = members(group).map((at) => index.advantage[at]).filter((it) => it !== null);
  if (advantages.length > 0) return advantages.every((it) => it === 0);
  const rewards = members(group).map((at) => index.reward[at]).filter((it) => it !== null);
  return rewards.every((it) => Math.abs(it - rewards[0]) < 1e-9);
}

function verdictOf(at) {
  return index.verdicts[index.verdict[at]];
}

/** Whether a program passed every test, or an episode solved its task. */
function isPass(verdict) {
  return verdict === "pass" || verdict === "solved";
}

function passesOf(group) {
  return members(group).filter((at) => isPass(verdictOf(at))).length;
}

/** The chunk that a completion is in: the last that begins at or before it. */
function chunkOf(at) {
  let [low, high] = [0, chunkStarts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (chunkStarts[middle] <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

async function completion(at) {
  const chunk = chunkOf(at);
  return (await list(`completions-${chunk}`))[at - chunkStarts[chunk]];
}

async function taskOf(number) {
  const place = index.places[number];
  return place ? (await list(`tasks-${place[0]}`))[place[1]] : null;
}

/** Those of some groups that are asked for by step, task and kind: what needs no text. */
function groupsWanted(among) {
  const part = wanted.task.toLowerCase();
  const tasks = index.tasks.map((name) => name.toLowerCase().includes(part));
  return among.filter((it) =>
    (wanted.step === "" || it.step === Number(wanted.step)) && tasks[it.task] &&
    (wanted.groups === "" || it.dead === (wanted.groups === "dead")));
}

/**
 * What is asked for: { groups, matches, hits, seen } with `matches` of a completion's number, `hits` the
 * completions with the text, and how many completions were `seen`. By the index at once, by text chunk after
 * chunk, telling `progress`; nothing if another search has begun meanwhile.
 */
async function answer(progress) {
  search += 1;
  const mine = search;
  const seen = index.step.length;
  const fits = groupsWanted(groups);
  const { verdicts } = wanted;
  const byVerdict = (at) => verdicts.size === 0 || verdicts.has(verdictOf(at));
  if (wanted.text === "") return { ...answered(fits, byVerdict), seen };
  const hits = new Set();
  const chunks = chunksOf(fits);
  for (const [done, chunk] of chunks.entries()) {
    progress(done / chunks.length);
    await look(chunk, hits);
    if (mine !== search) return null;
  }
  return { ...answered(fits, (at) => byVerdict(at) && hits.has(at)), hits, seen };
}

/** Adds the completions of a chunk that have the text. */
async function look(chunk, hits) {
  // Unpacked and let go again: all texts at once may be more than a phone can hold.
  const texts = JSON.parse(await unpack(`completions-${chunk}`));
  for (const at of matchesIn(texts)) hits.add(chunkStarts[chunk] + at);
}

function answered(fits, matches) {
  return { groups: fits.filter((group) => members(group).some(matches)), matches };
}

function chunksOf(fits) {
  const chunks = new Set();
  for (const { start, end } of fits) {
    for (let chunk = chunkOf(start); chunk <= chunkOf(end - 1); chunk += 1) chunks.add(chunk);
  }
  return [...chunks].sort((one, other) => one - other);
}

function matchesIn(texts) {
  const text = wanted.text.toLowerCase();
  return [...texts.keys()].filter((at) => allText(texts[at]).toLowerCase().includes(text));
}
