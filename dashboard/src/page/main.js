// The main module: connects the parts of the page. The overview is updated by the stream of states; the other
// views request their data while they are shown.

import { post } from "./api.js";
import * as agents from "./agents.js";
import * as assignment from "./assignment.js";
import { announce, openDialog } from "./confirm.js";
import * as discards from "./discards.js";
import { byId, setState, text } from "./dom.js";
import * as events from "./events.js";
import * as fetches from "./fetches.js";
import { time } from "./format.js";
import * as hosts from "./hosts.js";
import { subscribe } from "./live.js";
import * as obstacles from "./obstacles.js";
import * as search from "./search.js";
import * as settings from "./settings.js";
import * as totals from "./totals.js";
import * as traces from "./traces.js";
import * as why from "./why.js";

/** The module that refreshes each view while it is shown; null for those that do not need it. */
const VIEWS = { overview: null, hosts, errors: discards, fetches, traces, search: null, settings };
const REFRESH_MS = 3000;

let view = "overview";
let hasCluster = false;
let isRefreshing = false;

async function refresh() {
  if (!VIEWS[view] || document.hidden || document.body.classList.contains("lost") || isRefreshing) return;
  isRefreshing = true;
  try {
    await VIEWS[view].refresh();
  } catch (error) {
    announce(error.message);
  } finally {
    isRefreshing = false;
  }
}

/** Shows the view that the fragment of the URL names. */
function showView() {
  // Fragments of views begin with a slash, so that they match no id and the browser does not scroll.
  const wanted = location.hash.replace(/^#\//, "");
  // Other fragments, such as that of the skip link, are not views.
  if (location.hash && !(wanted in VIEWS)) return;
  view = wanted || "overview";
  for (const name of Object.keys(VIEWS)) byId(name).hidden = name !== view;
  for (const link of document.querySelectorAll(".views a")) {
    if (link.hash === `#/${view}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${view[0].toUpperCase()}${view.slice(1)} – Crivello`;
  scrollTo(0, 0);
  refresh();
}

function show(cluster) {
  text(byId("crawl"), cluster.crawl);
  setState(byId("run"), cluster.run);
  text(byId("epoch"), cluster.epoch);
  text(byId("revision"), cluster.settings_revision);
  text(byId("as-of"), time(cluster.now));
  byId("pause").hidden = cluster.run !== "running";
  byId("resume").hidden = cluster.run === "running";
  byId("stop").hidden = cluster.run === "stopping";
  for (const part of [hosts, why, traces, settings]) part.onCluster(cluster);
  obstacles.show(cluster);
  totals.show(cluster);
  agents.show(cluster);
  events.show(cluster);
  assignment.show(cluster).catch((error) => announce(error.message));
  if (!hasCluster) {
    hasCluster = true;
    refresh();
  }
}

/** Requests a run state: "running", "paused" or "stopping". */
async function setRun(run) {
  announce((await post("run", { run })).done);
}

byId("pause").addEventListener("click", () => openDialog({
  title: "Pause the crawl?",
  body: "No agent fetches until the crawl is resumed. Everything else continues.",
  confirmLabel: "Pause",
  onConfirm: () => setRun("paused"),
}));
byId("resume").addEventListener("click", () => setRun("running").catch((error) => announce(error.message)));
byId("stop").addEventListener("click", () => openDialog({
  title: "Stop the crawl?",
  body: "All agents save their state and exit. To continue, resume the crawl and start the agents again.",
  confirmLabel: "Stop",
  onConfirm: () => setRun("stopping"),
}));

totals.start();
agents.start();
assignment.start();
hosts.start(refresh);
why.start();
discards.start();
fetches.start(refresh);
traces.start();
search.start();
settings.start();
addEventListener("hashchange", showView);
document.addEventListener("visibilitychange", refresh);
setInterval(refresh, REFRESH_MS);
showView();

// States that arrive before the history is loaded wait here.
let pending = [];
let historyLoaded = false;
subscribe(
  (cluster) => (historyLoaded ? show(cluster) : pending.push(cluster)),
  () => {
    historyLoaded = false;
    totals.loadHistory().catch(() => {}).finally(() => {
      historyLoaded = true;
      pending.splice(0).forEach(show);
    });
  },
);
