// The traces of sampled URLs: a bar for each span, on a time axis that begins with the first span.

import { get } from "./api.js";
import { agentNames } from "./agents.js";
import { byId, el, missingData, text } from "./dom.js";
import { micros, time, withSpaces } from "./format.js";

const list = el("div");
const note = el("p", { class: "note", role: "status" });
/** Element and number of spans of each shown trace, by its id. */
const shown = new Map();
let nameOf = new Map();

export const onCluster = (cluster) => {
  nameOf = agentNames(cluster);
};

export function start() {
  byId("traces-list").append(list, note);
}

function bar(span, whole) {
  const inner = el("i");
  inner.style.left = `${Math.min((span.begin_us / whole) * 100, 99.5)}%`;
  inner.style.width = `${Math.min((span.took_us / whole) * 100, 100 - (span.begin_us / whole) * 100)}%`;
  const attributes = Object.entries(span.attributes).map(([name, value]) => `${name}: ${value}`).join("\n");
  const agent = nameOf.get(span.agent) ?? `agent ${span.agent}`;
  return el("li", { class: span.is_error ? "error" : null, title: attributes || null },
    el("span", { class: "label" }, `${withSpaces(span.name)} · ${agent}${span.is_error ? " · error" : ""}`),
    el("span", { class: "track", "aria-hidden": "true" }, inner),
    el("span", { class: "num" }, micros(span.took_us)));
}

function trace(one) {
  const whole = Math.max(one.took_us, 1);
  return el("details", { class: "trace" },
    el("summary", {}, el("span", { class: "what" }, one.url ?? one.id),
      el("span", { class: "muted" }, `${time(one.at)}, ${one.n_spans} spans, ${micros(one.took_us)}`),
      one.is_error ? el("span", { class: "bad" }, "with an error") : null),
    el("ol", { class: "waterfall", "aria-label": "Spans" }, ...one.spans.map((span) => bar(span, whole))));
}

export async function refresh() {
  const answer = await get("traces");
  const ids = new Set();
  const nodes = answer.traces.map((one) => {
    ids.add(one.id);
    const old = shown.get(one.id);
    // An element is replaced only if the number of its spans has changed, so that reading is not interrupted.
    if (old?.n === one.n_spans) return old.node;
    const node = trace(one);
    node.open = old?.node.open ?? false;
    shown.set(one.id, { n: one.n_spans, node });
    return node;
  });
  for (const id of shown.keys()) if (!ids.has(id)) shown.delete(id);
  const empty = el("p", { class: "empty" }, answer.available ? "No URL has been sampled yet." : "");
  const wanted = nodes.length ? nodes : [empty];
  const same = wanted.length === list.children.length && wanted.every((node, i) => node === list.children[i]);
  if (!same) list.replaceChildren(...wanted);
  text(note, missingData(answer, "Traces"));
}
