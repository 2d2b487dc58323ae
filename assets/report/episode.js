// An episode turn by turn: what the environment said, thinking, reply, what that was understood as and what it did.

/** Episodes of so many turns are shown open. */
const OPEN_TURNS = 3;
/** Answers of an environment up to this length are shown open. */
const SHORT_ANSWER = 400;

/** The turns of an episode; its last reply is the completion's own text. */
function episode(shown) {
  const last = shown.turns.length - 1;
  const isWhole = !shown.turns_left_out;
  const turns = shown.turns.map((it, at) => turnItem({ ...it, text: replyOf(shown, at), at }, last < OPEN_TURNS));
  const more = shown.turns_left_out ?? 0;
  const cut = shown.turns_cut_bytes?.toLocaleString("en");
  return [
    last >= OPEN_TURNS && turnsButton(turns),
    el("ol", { class: "turns", "aria-label": "Turns" }, turns),
    !isWhole && [el("p", { class: "note" }, `${counted(more, "more turn")}; the last reply:`), reply(shown.text)],
    cut && el("p", { class: "note" }, `${cut} more bytes of these turns are in the run's rollouts.`),
  ];
}

/** The reply of a turn: that of the last is the completion's text. */
function replyOf(shown, at) {
  const isLast = at === shown.turns.length - 1 && !shown.turns_left_out;
  return (isLast ? shown.text : shown.turns[at].text) ?? "";
}

/** Everything that the model said, for searching and comparing. */
function allText(shown) {
  if (!shown.turns) return shown.text;
  const said = shown.turns.map((it, at) => {
    const reply = splitThinking(replyOf(shown, at));
    return [`# Turn ${at + 1}`, it.reasoning, reply.thinking, reply.said, it.action].filter(Boolean).join("\n");
  });
  return said.concat(shown.turns_left_out ? [shown.text] : []).join("\n");
}

function turnItem(turn, isOpen) {
  const { thinking, said } = splitThinking(turn.text);
  const gist = turn.action ?? said;
  return el("li", { class: "turn" }, el("details", { open: isOpen },
    el("summary", {},
      el("b", {}, `Turn ${turn.at + 1}`), " ",
      el("span", { class: "gist" }, brief(gist.trim().replace(/\s+/g, " "), 90)), " ",
      marks(turn)),
    asked(turn),
    folded("Thinking", [turn.reasoning, thinking].filter(Boolean).join("\n"), "thinking"),
    el("pre", { class: "reply", tabindex: 0, "aria-label": "Reply" }, visible(said)),
    turn.finish === "length" && el("p", { class: "note" }, "Cut off by the token limit."),
    turn.action !== undefined && whatItDid(turn)));
}

/** Valid or not, and whether the environment saw progress: in words, with a colour. */
function marks(turn) {
  if (turn.action === undefined) return null;
  const mark = (text, tone) => el("span", { class: "badge" }, key(tone), text);
  return [
    turn.valid ? mark("valid", "v-pass") : mark("invalid", "v-syntax"),
    turn.progress ? mark("progress", "v-pass") : mark("no progress", "v-none"),
  ];
}

/** What the model was shown before its reply: the prompt at first, then the environment's answer. */
function asked(turn) {
  const messages = turn.asked ?? [];
  const name = turn.at === 0 ? "Prompt" : "Answer of the environment";
  return messages.map(({ role, text }) => {
    const label = role === "user" ? name : `${name} (${role})`;
    return turn.at > 0 && text.length <= SHORT_ANSWER ? answerText(label, text) : folded(label, text, "asked");
  });
}

function answerText(label, text) {
  return el("div", {}, el("p", { class: "note" }, label), el("pre", { class: "asked", tabindex: 0 }, visible(text)));
}

/** A text behind a line that says its length; nothing for no text. */
function folded(label, text, kind) {
  if (!text) return null;
  return el("details", {},
    el("summary", {}, `${label}, ${counted(text.length, "character")}`),
    el("pre", { class: kind, tabindex: 0 }, visible(text)));
}

/** The action as the environment understood it, and its state before and after. */
function whatItDid(turn) {
  const state = (label, text) =>
    el("div", {}, el("p", { class: "note" }, label), el("pre", { class: "state", tabindex: 0 }, visible(text)));
  return el("div", { class: "did" },
    el("p", { class: "note" }, "Action as understood"),
    el("pre", { class: "action", tabindex: 0 }, visible(turn.action)),
    el("div", { class: "states" },
      state("State before", turn.state),
      el("span", { class: "arrow", "aria-hidden": "true" }, "\u2192"),
      state("State after", turn.next_state)));
}

/** A reply without its thinking, and that; an unfinished one is all thinking. */
function splitThinking(text) {
  const end = text.indexOf("</think>");
  if (end >= 0) {
    const thinking = text.slice(0, end).replace(/^\s*<think>\n?/, "");
    return { thinking: thinking.trim(), said: text.slice(end + "</think>".length).replace(/^\n+/, "") };
  }
  const begun = text.match(/^\s*<think>/);
  return begun ? { thinking: text.slice(begun[0].length), said: "" } : { thinking: "", said: text };
}

/** Opens or closes all turns of an episode. */
function turnsButton(turns) {
  const button = el("button", { type: "button", class: "chip" }, "Open all turns");
  button.addEventListener("click", () => {
    const isOpen = button.textContent === "Open all turns";
    for (const turn of turns) turn.firstChild.open = isOpen;
    replace(button, isOpen ? "Close all turns" : "Open all turns");
  });
  return button;
}
