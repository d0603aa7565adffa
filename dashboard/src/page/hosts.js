// The hosts that the agents know of.

import { get } from "./api.js";
import { Table, byId, el, gaps, text } from "./dom.js";
import { count, when } from "./format.js";
import { explain } from "./why.js";

const failures = (host) => Object.entries(host.failures).map(([kind, n]) => `${kind} ${n}`).join(", ");
let cluster = null;
// A time in the past is now: the host only waits for its turn.
const next = (at) => (at ? when(Math.max(Date.parse(at), cluster?.now ?? 0), cluster?.now ?? 0) : "–");
const agent = (id) => cluster?.agents.find((one) => one.id === id)?.name ?? id;

const table = new Table("Hosts", [
  {
    label: "Host",
    key: true,
    make: (td, host) => td.append(el("button", { type: "button", class: "link", onclick: () => explain(host.name) }, host.name)),
    show: () => {},
  },
  { label: "Queued", num: true, text: (host) => count(host.queued) },
  { label: "Pages", num: true, text: (host) => count(host.pages) },
  { label: "Next", num: true, text: (host) => next(host.wait?.next) },
  { label: "Waits for", wide: true, text: (host) => host.waits_for },
  { label: "Failures in a row", wide: true, text: (host) => failures(host) || "–" },
  { label: "Agent", text: (host) => agent(host.agent) },
]);
const note = el("p", { class: "note", role: "status" });

export function start(refresh) {
  byId("hosts-list").append(table.box, note);
  const form = byId("hosts-form");
  let typing = null;
  form.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(refresh, 250);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    refresh();
  });
}

export const remember = (now) => {
  cluster = now;
};

export async function refresh() {
  const form = new FormData(byId("hosts-form"));
  const asked = { contains: form.get("contains").trim(), order: form.get("order") };
  const answer = await get("hosts", asked);
  // What was typed meanwhile is asked for by itself.
  if (new FormData(byId("hosts-form")).get("contains").trim() !== asked.contains) return;
  table.update(answer.hosts, (host) => host.name, { empty: answer.available ? "No such host." : "" });
  const more = answer.truncated ? "Not all hosts are shown; search for part of a name." : "";
  text(note, [gaps(answer, "Hosts"), more].filter(Boolean).join(" "));
}
