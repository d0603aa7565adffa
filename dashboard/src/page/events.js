// The list of events: agents that joined, drained, died or left, and changes of run state and settings.

import { announce } from "./confirm.js";
import { byId, el } from "./dom.js";
import { time } from "./format.js";

const MARKS = { joined: "+", draining: "◐", left: "−", dead: "✕", removed: "✕", running: "▶", paused: "❚❚", stopping: "■", settings: "✎" };
let newest = null;
let shown = "";

export function show(cluster) {
  const events = cluster.events;
  const ids = events.map((event) => event.id).join();
  if (ids === shown && shown !== "") return;
  shown = ids;
  const items = events.map((event) => el("li", { "data-kind": event.kind },
    el("time", { datetime: new Date(event.at).toISOString() }, time(event.at)),
    el("span", { class: "mark", "aria-hidden": "true" }, MARKS[event.kind] ?? "•"),
    el("span", {}, event.text)));
  byId("events").replaceChildren(...(items.length ? items : [el("li", { class: "empty" }, "No events since the coordinator started.")]));
  const fresh = events.filter((event) => newest !== null && event.id > newest);
  if (fresh.length) announce(fresh.map((event) => event.text).reverse().join("; "));
  newest = events[0]?.id ?? newest ?? 0;
}
