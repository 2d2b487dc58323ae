// Completions that arrive while the page is open: they join the index, the filters and the list, and leave
// alone what the user has chosen or reads.

/** Where the tasks are that may come, and the numbers of those that are there, both by name. */
const tasksToCome = new Map();
const taskNumbers = new Map();

/** Learns which tasks there are. */
function expectTasks(places) {
  for (const [name, place] of Object.entries(places)) tasksToCome.set(name, place);
  index.tasks.forEach((name, number) => taskNumbers.set(name, number));
}

/** Takes in a chunk of completions and their part of the index. */
async function takeCompletions({ index: part, chunk }) {
  const first = index.step.length;
  const id = `completions-${index.chunks.length}`;
  document.body.append(el("script", { type: "application/octet-stream", id }, chunk));
  chunkStarts.push(first);
  index.chunks.push(part.step.length);
  const numbers = part.tasks.map(taskNumber);
  index.task.push(...part.task.map((it) => numbers[it]));
  for (const name of ["step", "sample", "verdict", "reward", "advantage"]) index[name].push(...part[name]);
  index.all += part.step.length;
  groupFrom(first);
  if (first > 0) {
    drawFilters();
  } else {
    hide("completions", false);
    await openBrowser();
  }
}

function taskNumber(name) {
  if (!taskNumbers.has(name)) {
    taskNumbers.set(name, index.tasks.length);
    index.tasks.push(name);
    index.places.push(tasksToCome.get(name) ?? null);
  }
  return taskNumbers.get(name);
}

/** Adds to what was found what has arrived since. A search that runs meanwhile is added to next time. */
async function extendFound() {
  const mine = found;
  const { seen } = mine;
  const all = index.step.length;
  if (seen === all) return;
  const from = groups.findLastIndex((group) => group.end <= seen) + 1;
  const fits = groupsWanted(groups.slice(from));
  if (mine.hits) {
    for (const chunk of chunksOf(fits)) {
      if (chunkStarts[chunk] >= seen) await look(chunk, mine.hits);
    }
  }
  if (found !== mine) return;
  mine.seen = all;
  const matching = answered(fits, mine.matches).groups;
  if (matching.length > 0) await listNew(matching);
}

async function listNew(matching) {
  const before = found.groups.length;
  const longer = matching.filter((group) => found.groups.at(-1) === group);
  found.groups.push(...matching.filter((group) => !longer.includes(group)));
  sayFound();
  if (longer.length > 0) await listAgain(before - 1);
  if (listed === before && listed < PAGE) listMore();
  byId("more").hidden = listed >= found.groups.length;
  if (before === 0) await choose(0);
}

/** A group that is listed has more samples than before. */
async function listAgain(place) {
  if (place >= listed) return;
  const before = buttonAt(place);
  const isFocused = document.activeElement === before;
  const item = groupItem(found.groups[place], place);
  adorn(item.firstChild, { "aria-current": before.getAttribute("aria-current"), tabindex: before.tabIndex });
  before.parentNode.replaceWith(item);
  if (isFocused) item.firstChild.focus();
  if (place === chosen) await choose(place);
}
