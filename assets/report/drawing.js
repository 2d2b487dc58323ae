// The last frame of a game as a small drawing: its objects by class, place, size, colour and text. Every number is
// bounded here, as a game may place what it likes where it likes.

/** The game area where the record does not say it: that of the embedded prompts. */
const USUAL_AREA = { width: 800, height: 600, scroll: [0, 0] };
/** Room around the game area for the marks of objects outside. */
const FRAME_MARGIN = 26;
/** The largest number that is drawn; what is further away is outside anyway. */
const FAR = 1e5;
/** The longest text of an object, in characters, and its lines. */
const DRAWN_TEXT = 60;
const DRAWN_LINES = 6;
/** Objects that have a place and no outline of their own that could be drawn. */
const WITHOUT_OUTLINE = new Set(["Graphics", "Container", "Layer", "Zone", "ParticleEmitter", "Particles"]);

/** The drawing with what it leaves out; nothing of a run that recorded no objects. */
function lastFrame(run) {
  if (run.objects.length === 0) return null;
  const area = gameArea(run.area);
  const objects = run.objects.map((it) => placed(it, area));
  const seen = objects.filter((it) => it.isVisible);
  const outside = seen.filter((it) => isOutside(it, area));
  const size = { viewBox: `${-FRAME_MARGIN} ${-FRAME_MARGIN} ${area.width + 2 * FRAME_MARGIN} ${area.height + 2 * FRAME_MARGIN}` };
  const frame = { x: 0, y: 0, width: area.width, height: area.height };
  const clipped = { ...frame, viewBox: `0 0 ${area.width} ${area.height}`, class: "inside" };
  const label = `Last frame: ${counted(seen.length - outside.length, "object")} in the game area`;
  return el("figure", { class: "frame" },
    draw("svg", { role: "img", "aria-label": label, ...size },
      draw("rect", { class: "game-area", ...frame }),
      draw("svg", clipped, seen.map(objectShape)),
      outside.map((it) => outsideMark(it, area))),
    el("figcaption", { class: "note" }, frameNote(run, { seen, outside, area })),
    objectTable(objects));
}

function gameArea(area) {
  if (!area) return USUAL_AREA;
  const side = (value, usual) => (value >= 1 ? Math.min(value, 8192) : usual);
  const [width, height] = [side(area.width, USUAL_AREA.width), side(area.height, USUAL_AREA.height)];
  return { width, height, scroll: area.scroll.map(bounded), isKnown: true };
}

function frameNote(run, { seen, outside, area }) {
  const hidden = run.objects.length - seen.length;
  const more = run.object_count - run.objects.length;
  const parts = [
    `After ${counted(run.frames, "frame")}: ${counted(seen.length, "object")}`,
    outside.length > 0 && `${outside.length} outside the game area, at the arrows`,
    hidden > 0 && `${hidden} invisible`,
    more > 0 && `${more} more not recorded`,
    !area.isKnown && `drawn on ${area.width} \u00d7 ${area.height}`,
  ];
  return `${parts.filter(Boolean).join("; ")}.`;
}

/** An object with numbers that can be drawn: its middle, its size, its turn, and its look. */
function placed(object, area) {
  const [width, height] = [object.width, object.height].map((it) => Math.abs(bounded(it)));
  const [originX, originY] = (object.origin ?? [0.5, 0.5]).map((it) => Math.min(Math.max(bounded(it), -10), 10));
  const [x, y] = [bounded(object.x) - area.scroll[0], bounded(object.y) - area.scroll[1]];
  return {
    ...object,
    x, y, width, height,
    left: x - originX * width,
    top: y - originY * height,
    degrees: ((bounded(object.rotation) * 180) / Math.PI) % 360,
    opacity: Math.min(Math.max(object.alpha ?? 1, 0), 1),
    isVisible: object.visible !== false && object.alpha !== 0 && object.x !== null && object.y !== null,
    fill: colorOf(object),
  };
}

/** A number between -FAR and FAR; 0 for what is not one. */
function bounded(value) {
  return Number.isFinite(value) ? Math.min(Math.max(value, -FAR), FAR) : 0;
}

function colorOf({ color }) {
  return Number.isInteger(color) ? `#${(color & 0xffffff).toString(16).padStart(6, "0")}` : "#b9c0c6";
}

function isOutside({ left, top, width, height }, area) {
  return left > area.width || top > area.height || left + width < 0 || top + height < 0;
}

/** The shape of an object by its class; a cross where nothing is known of its outline. */
function objectShape(it) {
  const title = draw("title", {}, objectTitle(it));
  const look = { class: "thing", fill: it.fill, opacity: it.opacity };
  const turn = it.degrees === 0 ? null : `rotate(${it.degrees} ${it.x} ${it.y})`;
  const [middleX, middleY] = [it.left + it.width / 2, it.top + it.height / 2];
  if (typeof it.text === "string" && it.width > 0) return draw("g", { transform: turn, ...look }, title, textLines(it));
  if (WITHOUT_OUTLINE.has(it.kind) || it.width * it.height === 0) return draw("g", { class: "place" }, title, cross(it));
  switch (it.kind) {
    case "Arc": case "Ellipse":
      return draw("ellipse", { cx: middleX, cy: middleY, rx: it.width / 2, ry: it.height / 2, transform: turn, ...look }, title);
    case "Triangle":
      return draw("polygon", { points: corners(it, TRIANGLE), transform: turn, ...look }, title);
    case "Star":
      return draw("polygon", { points: corners(it, STAR), transform: turn, ...look }, title);
    default: {
      const isPicture = it.texture !== undefined && it.kind !== "Rectangle";
      const box = { x: it.left, y: it.top, width: it.width, height: it.height };
      return draw("g", { transform: turn, ...look }, title, draw("rect", box),
        isPicture && draw("path", { class: "picture", d: diagonals(it) }));
    }
  }
}

/** Corners in a box from 0 to 1. */
const TRIANGLE = [[0.5, 0], [1, 1], [0, 1]];
const STAR = Array.from({ length: 10 }, (_, at) => {
  const [angle, far] = [(at * Math.PI) / 5, at % 2 === 0 ? 0.5 : 0.22];
  return [0.5 + far * Math.sin(angle), 0.5 - far * Math.cos(angle)];
});

function corners({ left, top, width, height }, shape) {
  return shape.map(([x, y]) => `${left + x * width},${top + y * height}`).join(" ");
}

function diagonals({ left, top, width, height }) {
  return `M${left} ${top}l${width} ${height}m${-width} 0l${width} ${-height}`;
}

function cross({ x, y }) {
  return draw("path", { d: `M${x - 7} ${y}h14m-7 -7v14` });
}

/** A text in the box that Phaser measured for it. */
function textLines({ text, left, top, width, height }) {
  const lines = text.split("\n").slice(0, DRAWN_LINES);
  const step = height / lines.length;
  return lines.map((line, at) => draw("text",
    { x: left, y: top + (at + 0.78) * step, "font-size": Math.max(step * 0.85, 4) }, brief(line, DRAWN_TEXT)));
}

/** An arrow at the border that points to an object outside. */
function outsideMark(it, area) {
  const [x, y] = [it.left + it.width / 2, it.top + it.height / 2];
  const [atX, atY] = [Math.min(Math.max(x, 0), area.width), Math.min(Math.max(y, 0), area.height)];
  const degrees = (Math.atan2(y - atY, x - atX) * 180) / Math.PI;
  return draw("path", { class: "outside", d: "M4 -9L22 0L4 9z", transform: `translate(${atX} ${atY}) rotate(${degrees})` },
    draw("title", {}, `Outside: ${objectTitle(it)}`));
}

function objectTitle(it) {
  const text = typeof it.text === "string" ? ` \u201c${brief(it.text, DRAWN_TEXT)}\u201d` : "";
  return `${brief(it.kind, 40)}${text} at ${figure(it.x)}, ${figure(it.y)}, ${figure(it.width)} \u00d7 ${figure(it.height)}`;
}

function objectTable(objects) {
  const rows = objects.map((it) => [
    brief(it.kind, 40), `${figure(it.x)}, ${figure(it.y)}`, `${figure(it.width)} \u00d7 ${figure(it.height)}`,
    it.color === undefined ? "\u2013" : it.fill,
    typeof it.text === "string" ? brief(it.text, DRAWN_TEXT) : "",
    it.isVisible ? "" : "invisible",
  ]);
  return el("details", {}, el("summary", {}, "Objects"),
    el("div", { class: "scroll" }, table(null, ["class", "place", "size", "colour", "text", ""], rows)));
}
