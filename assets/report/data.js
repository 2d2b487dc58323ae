// What is known of the run, and how it arrives: packed chunks behind the page, or records handed in.

/** Everything that is drawn. */
const known = {
  run: null,
  started: null,
  resumed: [],
  finished: null,
  alarms: [],
  warnings: [],
  checkpoints: [],
  events: [],
  figures: null,
  evaluation: null,
  stages: null,
  first_ms: null,
  last_ms: null,
  /** name -> Map(step -> value); a step that is taken again after a crash replaces itself. */
  metrics: new Map(),
  /** step -> what its rollouts come to */
  rollouts: new Map(),
};

/** Metrics that are not finite are words in JSON. */
const NOT_FINITE = { nan: NaN, inf: Infinity, "-inf": -Infinity };

/**
 * Takes in records of a feed: events as they stand in `events.jsonl`, and `run`, `rollouts`,
 * `figures`, `evaluation` and `stages`. Draws what changed. A live page calls this again.
 */
function ingest(records) {
  records.forEach(take);
  drawOverview();
}

function take(record) {
  if (record.time_ms !== undefined) {
    known.first_ms = Math.min(known.first_ms ?? record.time_ms, record.time_ms);
    known.last_ms = Math.max(known.last_ms ?? record.time_ms, record.time_ms);
    if (record.type !== "metrics") known.events.push(record);
  }
  switch (record.type) {
    case "run": known.run = record; break;
    case "figures": known.figures = record; break;
    case "evaluation": known.evaluation = record; break;
    case "stages": known.stages = record.stages; break;
    case "rollouts": known.rollouts.set(record.step, record); break;
    case "metrics": takeMetrics(record); break;
    case "run_started": known.started = record; known.finished = null; break;
    case "run_resumed": known.resumed.push(record); known.finished = null; break;
    case "run_finished": known.finished = record; break;
    case "alarm": known.alarms.push(record); break;
    case "warning": known.warnings.push(record); break;
    case "checkpoint_saved": known.checkpoints.push(record); break;
    default: break; // A newer feed may say more than this page draws.
  }
}

function takeMetrics(record) {
  for (const [name, value] of Object.entries(record.values)) {
    if (!known.metrics.has(name)) known.metrics.set(name, new Map());
    const number = typeof value === "string" ? NOT_FINITE[value] : value;
    known.metrics.get(name).set(record.step, number);
  }
}

/** Points [step, value] of a metric in the order of steps. */
function points(name) {
  return sorted(known.metrics.get(name) ?? new Map());
}

/** Points of something that each step's rollouts have. */
function rolloutPoints(of) {
  const found = new Map();
  for (const [step, seen] of known.rollouts) {
    const value = of(seen);
    if (value !== null && value !== undefined) found.set(step, value);
  }
  return sorted(found);
}

function sorted(byStep) {
  return [...byStep].sort((one, other) => one[0] - other[0]);
}

/** The text of a chunk: base64 of deflated bytes, in an element that is not a script. */
async function unpack(name) {
  const element = byId(name);
  if (element === null) throw new Error(`the page has no part ${name}: was the file cut short?`);
  const bytes = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

/** Chunks that were unpacked lately, by name. */
const unpacked = new Map();
const UNPACKED_CHUNKS = 24;

async function list(name) {
  if (!unpacked.has(name)) {
    unpacked.set(name, unpack(name).then(JSON.parse));
    if (unpacked.size > UNPACKED_CHUNKS) unpacked.delete(unpacked.keys().next().value);
  }
  return unpacked.get(name);
}
