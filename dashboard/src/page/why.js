// The explanation of a host or a URL, as lines formatted by the server, and the table of fetches.

import { get, post } from "./api.js";
import { announce, openDialog } from "./confirm.js";
import { Table, byId, el, missingData, text } from "./dom.js";
import { bytes, micros, time, withSpaces } from "./format.js";

let cluster = null;
const agentName = (id) => (id === null || id === undefined ? "none" : cluster?.agents.find((one) => one.id === id)?.name ?? `agent ${id}`);

export const onCluster = (latest) => {
  cluster = latest;
};

/** Creates a table of fetches. If `short`, it has no columns for bytes, address and agent. */
export function fetchTable(caption, short = false) {
  const columns = [
    { label: "URL", wide: true, key: true, text: (fetch) => fetch.url },
    { label: "When", num: true, text: (fetch) => time(fetch.at) },
    { label: "Result", make: (td) => td.append(el("span")), show: (td, fetch) => {
      const bad = fetch.failure !== "" || fetch.status >= 400;
      td.firstChild.className = bad ? "bad" : "";
      text(td.firstChild, [fetch.status || "", withSpaces(fetch.failure)].filter(Boolean).join(" ") || "–");
    } },
    { label: "Took", num: true, text: (fetch) => micros(fetch.took_us) },
  ];
  const more = [
    { label: "Bytes", num: true, text: (fetch) => bytes(fetch.bytes) },
    { label: "Address", text: (fetch) => fetch.address || "–" },
    { label: "Agent", text: (fetch) => agentName(fetch.agent) },
  ];
  return new Table(caption, short ? columns : [...columns, ...more]);
}

function draw(answer) {
  const { explanation, lines } = answer;
  const source = explanation.agents.find((one) => one.id === explanation.source)?.answer;
  const parts = [el("dl", { class: "explanation" },
    ...lines.flatMap(({ label, text: line }) => [el("dt", {}, label), el("dd", {}, line)]))];
  if (!lines.length) return [el("p", { class: "empty" }, missingData(answer, "Why") || "No agent is alive.")];
  if (source?.host.fetches.length) {
    const table = fetchTable("Last fetches of this host", true);
    table.update(source.host.fetches, (fetch) => `${fetch.at} ${fetch.url}`);
    parts.push(el("h4", {}, "Last fetches"), table.box);
  }
  if (source) parts.push(el("p", {}, el("button", { type: "button", class: "small", onclick: () => block(source.host.name) }, "Block this host…")));
  const missing = missingData(answer, "Why");
  if (missing) parts.push(el("p", { class: "note" }, missing));
  return parts;
}

function block(name) {
  openDialog({
    title: `Block ${name}?`,
    body: `Nothing is fetched from ${name} any more, and its queued URLs are dropped. If it is removed from links.blocked, links to it are accepted again.`,
    confirmLabel: `Block ${name}`,
    onConfirm: async () => announce((await post("block", { what: name, blocked: true })).done),
  });
}

/** Requests the explanation of a host or a URL, and shows it beside the list. */
export async function explain(subject) {
  const panel = byId("why");
  panel.hidden = false;
  text(byId("why-title"), `Why: ${subject}`);
  byId("why-body").replaceChildren(el("p", { class: "empty" }, "Loading…"));
  byId("why-title").focus();
  try {
    byId("why-body").replaceChildren(...draw(await get("why", { text: subject })));
  } catch (error) {
    byId("why-body").replaceChildren(el("p", { class: "bad" }, error.message));
  }
}

export function start() {
  byId("why-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const subject = new FormData(event.target).get("text").trim();
    if (subject) explain(subject);
  });
  byId("why-close").addEventListener("click", () => {
    byId("why").hidden = true;
    byId("hosts-form").elements.contains.focus();
  });
}
