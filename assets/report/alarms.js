// Alarms: what to look at before the figures are believed, each with a way to the completions.

const MAX_ALARMS = 40;
const MAX_SUSPECTS = 12;

function alarms() {
  const all = known.alarms;
  if (all.length === 0) return null;
  const items = all.slice(-MAX_ALARMS).map(alarmItem);
  return el("section", { class: "notice", "aria-label": "Alarms" },
    el("h3", {}, counted(all.length, "alarm")), el("ul", { class: "alarms" }, items));
}

function alarmItem({ step, code, message, suspects }) {
  return el("li", {},
    el("b", {}, `${brief(words(code), 40)}, step ${step}. `), prose(brief(sentence(message), 700)),
    el("div", { class: "chips" },
      alarmLink(`completions of step ${step}`, () => openStep(step)),
      suspects.slice(0, MAX_SUSPECTS).map((it) =>
        alarmLink(`${brief(it.prompt_id, 60)}, sample ${it.group_id + 1}`, () => openTask(step, it.prompt_id)))));
}

function alarmLink(text, open) {
  const link = el("button", { type: "button", class: "chip" }, text);
  link.addEventListener("click", open);
  return link;
}

/** Text in which `names` stand between backticks, as a terminal shows them. */
function prose(text) {
  return text.split("`").map((part, at) => (at % 2 === 0 ? part : el("code", {}, part)));
}

/** A message as events have it, as a sentence. */
function sentence(message) {
  const text = String(message);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
