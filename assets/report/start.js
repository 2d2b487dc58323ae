// Draws the page: the curves as soon as their data is there, the completions when all of it is.

async function start() {
  const feed = await unpack("feed");
  ingest(feed.split("\n").filter(Boolean).map((line) => JSON.parse(line)));
  if (document.readyState === "loading") {
    await new Promise((done) => document.addEventListener("DOMContentLoaded", done));
  }
  readIndex(JSON.parse(await unpack("index")));
  hide("completions", index.step.length === 0);
  if (index.step.length > 0) await openBrowser();
  document.documentElement.dataset.ready = "true";
}

// Called by a live page with each update.
window.whet = { ingest };
const started = start();
started.catch((err) => {
  const said = `This page could not be drawn: ${brief(err.message, 300)}`;
  document.querySelector("main").prepend(el("p", { class: "notice" }, said));
  document.documentElement.dataset.ready = "failed";
  throw err;
});
