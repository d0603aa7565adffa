// The hosts that the agents know.

import { get } from "./api.js";
import { Table, byId, el, missingData, text } from "./dom.js";
import { count, relativeTime } from "./format.js";
import { explain } from "./why.js";

const failures = (host) => Object.entries(host.failures).map(([kind, n]) => `${kind} ${n}`).join(", ");
let cluster = null;
// A time in the past is shown as now: the host may be visited, and waits for its turn.
const nextVisit = (at) => (at ? relativeTime(Math.max(Date.parse(at), cluster?.now ?? 0), cluster?.now ?? 0) : "–");
const agentName = (id) => cluster?.agents.find((one) => one.id === id)?.name ?? id;

const table = new Table("Hosts", [
  {
    label: "Host",
    key: true,
    make: (td, host) => td.append(el("button", { type: "button", class: "link", onclick: () => explain(host.name) }, host.name)),
    show: () => {},
  },
  { label: "Queued", num: true, text: (host) => count(host.queued) },
  { label: "Pages", num: true, text: (host) => count(host.pages) },
  { label: "Next", num: true, text: (host) => nextVisit(host.wait?.next) },
  { label: "Waits for", wide: true, text: (host) => host.waits_for },
  { label: "Failures in a row", wide: true, text: (host) => failures(host) || "–" },
  { label: "Agent", text: (host) => agentName(host.agent) },
]);
const note = el("p", { class: "note", role: "status" });

export function start(refresh) {
  byId("hosts-list").append(table.box, note);
  const form = byId("hosts-form");
  let timer = null;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, 250);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    refresh();
  });
}

export const onCluster = (latest) => {
  cluster = latest;
};

export async function refresh() {
  const form = new FormData(byId("hosts-form"));
  const query = { contains: form.get("contains").trim(), order: form.get("order") };
  const answer = await get("hosts", query);
  // The text has changed since the request: its own request follows.
  if (new FormData(byId("hosts-form")).get("contains").trim() !== query.contains) return;
  table.update(answer.hosts, (host) => host.name, { empty: answer.available ? "No such host." : "" });
  const more = answer.truncated ? "Not all hosts are shown; search for part of a name." : "";
  text(note, [missingData(answer, "Hosts"), more].filter(Boolean).join(" "));
}
