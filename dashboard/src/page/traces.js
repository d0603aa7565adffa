// The ways of sampled URLs: a bar for each span, from when the first began.

import { get } from "./api.js";
import { names } from "./agents.js";
import { byId, el, gaps, text } from "./dom.js";
import { micros, time, words } from "./format.js";

const list = el("div");
const note = el("p", { class: "note", role: "status" });
const known = new Map();
let called = new Map();

export const remember = (cluster) => {
  called = names(cluster);
};

export function start() {
  byId("traces-list").append(list, note);
}

function bar(span, whole) {
  const inner = el("i");
  inner.style.left = `${Math.min((span.begin_us / whole) * 100, 99.5)}%`;
  inner.style.width = `${Math.min((span.took_us / whole) * 100, 100 - (span.begin_us / whole) * 100)}%`;
  const told = Object.entries(span.attributes).map(([name, value]) => `${name}: ${value}`).join("\n");
  const agent = called.get(span.agent) ?? `agent ${span.agent}`;
  return el("li", { class: span.is_error ? "error" : null, title: told || null },
    el("span", { class: "label" }, `${words(span.name)} · ${agent}${span.is_error ? " · error" : ""}`),
    el("span", { class: "track", "aria-hidden": "true" }, inner),
    el("span", { class: "num" }, micros(span.took_us)));
}

function trace(one) {
  const whole = Math.max(one.took_us, 1);
  return el("details", { class: "trace" },
    el("summary", {}, el("span", { class: "what" }, one.url ?? one.id),
      el("span", { class: "muted" }, `${time(one.at)}, ${one.n_spans} spans, ${micros(one.took_us)}`),
      one.is_error ? el("span", { class: "bad" }, "with an error") : null),
    el("ol", { class: "fall", "aria-label": "Spans" }, ...one.spans.map((span) => bar(span, whole))));
}

export async function refresh() {
  const answer = await get("traces");
  const ids = new Set();
  const nodes = answer.traces.map((one) => {
    ids.add(one.id);
    const old = known.get(one.id);
    // One that is being read is left as it is, unless there is more of it.
    if (old?.n === one.n_spans) return old.node;
    const node = trace(one);
    node.open = old?.node.open ?? false;
    known.set(one.id, { n: one.n_spans, node });
    return node;
  });
  for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
  const empty = el("p", { class: "empty" }, answer.available ? "No URL has been sampled yet." : "");
  const wanted = nodes.length ? nodes : [empty];
  const same = wanted.length === list.children.length && wanted.every((node, i) => node === list.children[i]);
  if (!same) list.replaceChildren(...wanted);
  text(note, gaps(answer, "Traces"));
}
