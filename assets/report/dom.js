// Elements and texts. Text enters the page only through `textContent`, here and nowhere else.

const SVG = "http://www.w3.org/2000/svg";

/** Fills an element: strings become text, elements become children, nothing is passed over. */
function fill(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

function adorn(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) throw new Error("handlers are added with addEventListener");
    element.setAttribute(name, value === true ? "" : String(value));
  }
  return element;
}

function el(tag, attributes = {}, ...children) {
  return fill(adorn(document.createElement(tag), attributes), children);
}

function draw(tag, attributes = {}, ...children) {
  return fill(adorn(document.createElementNS(SVG, tag), attributes), children);
}

function byId(id) {
  return document.getElementById(id);
}

function replace(host, ...children) {
  host.replaceChildren();
  return fill(host, children);
}

/** Fills an element again; keeps what has not changed, and what the user has opened. */
function refresh(host, ...children) {
  const next = fill(host.cloneNode(false), children);
  const [before, after] = [host, next].map((it) => it.querySelectorAll("details"));
  after.forEach((details, at) => {
    if (before[at]) details.open = before[at].open;
  });
  if (!host.isEqualNode(next)) host.replaceChildren(...next.childNodes);
}

/** Hostile text made visible: controls as pictures, marks that reorder or hide text by number. */
function visible(text) {
  return text
    .replace(/[\u0000-\u0008\u000b-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/[\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, (c) =>
      `\u27e8U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);
}

/** The beginning of a text that may have any length. */
function brief(text, length = 120) {
  const shown = visible(String(text));
  return shown.length > length ? `${shown.slice(0, length)}\u2026` : shown;
}

/** `1 group`, `2 groups`. */
function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** A number with the digits that say something. */
function figure(value) {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  const short = Number(value.toPrecision(3));
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return short.toExponential().replace("e+", "e");
  return size >= 1000 ? Math.round(value).toLocaleString("en") : String(short);
}

/** A share times a hundred, with one digit; a tie goes to the even digit, as in what `whet` prints. */
function percentPoints(value) {
  const hundredths = 100 * value;
  const tieToEven = Math.abs(hundredths % 1) === 0.25 ? Math.sign(value) * 0.05 : 0;
  return (hundredths - tieToEven).toFixed(1);
}

function percent(value) {
  return `${percentPoints(value)} %`;
}

function duration(seconds) {
  if (seconds < 90) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A verdict as words. */
function words(verdict) {
  return verdict.replaceAll("_", " ");
}
