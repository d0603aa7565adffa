// Puts the page together: numbers as they come, views that are asked for while they are looked at.

import { post } from "./api.js";
import * as agents from "./agents.js";
import * as assignment from "./assignment.js";
import { announce, ask } from "./confirm.js";
import * as discards from "./discards.js";
import { byId, showState, text } from "./dom.js";
import * as events from "./events.js";
import * as fetches from "./fetches.js";
import { time } from "./format.js";
import * as hosts from "./hosts.js";
import { listen } from "./live.js";
import * as settings from "./settings.js";
import * as totals from "./totals.js";
import * as traces from "./traces.js";
import * as why from "./why.js";

/** What is asked for anew while a view is looked at. */
const VIEWS = { overview: null, hosts, errors: discards, fetches, traces, settings };
const REFRESH = 3000;

let view = "overview";
let known = false;
let asking = false;

async function refresh() {
  if (!VIEWS[view] || document.hidden || document.body.classList.contains("lost") || asking) return;
  asking = true;
  try {
    await VIEWS[view].refresh();
  } catch (error) {
    announce(error.message);
  } finally {
    asking = false;
  }
}

function look() {
  // With a slash, so that nothing of the page has this name and nothing is scrolled to.
  const wanted = location.hash.replace(/^#\//, "");
  // Other anchors, such as that of the main part, are no views.
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
  showState(byId("run"), cluster.run);
  text(byId("epoch"), cluster.epoch);
  text(byId("revision"), cluster.settings_revision);
  text(byId("as-of"), time(cluster.now));
  byId("pause").hidden = cluster.run !== "running";
  byId("resume").hidden = cluster.run === "running";
  byId("stop").hidden = cluster.run === "stopping";
  for (const part of [hosts, why, traces, settings]) part.remember(cluster);
  totals.show(cluster);
  agents.show(cluster);
  events.show(cluster);
  assignment.show(cluster).catch((error) => announce(error.message));
  if (!known) {
    known = true;
    refresh();
  }
}

async function run(wish) {
  announce((await post("run", { run: wish })).done);
}

byId("pause").addEventListener("click", () => ask({
  title: "Pause the crawl?",
  body: "No agent fetches until the crawl is resumed. Everything else continues.",
  yes: "Pause",
  todo: () => run("paused"),
}));
byId("resume").addEventListener("click", () => run("running").catch((error) => announce(error.message)));
byId("stop").addEventListener("click", () => ask({
  title: "Stop the crawl?",
  body: "All agents save their state and exit. To continue, resume the crawl and start the agents again.",
  yes: "Stop",
  todo: () => run("stopping"),
}));

totals.start();
agents.start();
assignment.start();
hosts.start(refresh);
why.start();
discards.start();
fetches.start(refresh);
traces.start();
settings.start();
addEventListener("hashchange", look);
document.addEventListener("visibilitychange", refresh);
setInterval(refresh, REFRESH);
look();

let pending = [];
let recalled = false;
listen(
  (cluster) => (recalled ? show(cluster) : pending.push(cluster)),
  () => {
    recalled = false;
    totals.recall().catch(() => {}).finally(() => {
      recalled = true;
      pending.splice(0).forEach(show);
    });
  },
);
