// The whole story of a host or a URL: what it waits for, and which rule says so.

import { get, post } from "./api.js";
import { announce, ask } from "./confirm.js";
import { Table, byId, el, gaps, text } from "./dom.js";
import { bytes, count, micros, span, time, when, words } from "./format.js";

let cluster = null;
const named = (id) => (id === null || id === undefined ? "nobody" : cluster?.agents.find((one) => one.id === id)?.name ?? `agent ${id}`);

export const remember = (now) => {
  cluster = now;
};

const story = (rows) => el("dl", { class: "story" },
  ...rows.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== "–")
    .flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]));

export function fetchTable(caption, short = false) {
  const columns = [
    { label: "URL", wide: true, key: true, text: (fetch) => fetch.url },
    { label: "When", num: true, text: (fetch) => time(fetch.at) },
    { label: "Result", make: (td) => td.append(el("span")), show: (td, fetch) => {
      const bad = fetch.failure !== "" || fetch.status >= 400;
      td.firstChild.className = bad ? "bad" : "";
      text(td.firstChild, [fetch.status || "", words(fetch.failure)].filter(Boolean).join(" ") || "–");
    } },
    { label: "Took", num: true, text: (fetch) => micros(fetch.took_us) },
  ];
  const more = [
    { label: "Bytes", num: true, text: (fetch) => bytes(fetch.bytes) },
    { label: "Address", text: (fetch) => fetch.address || "–" },
    { label: "Agent", text: (fetch) => named(fetch.agent) },
  ];
  return new Table(caption, short ? columns : [...columns, ...more]);
}

function hostRows(host, now) {
  return [
    ["Next request", when(host.next, now)],
    ["Queued", `${count(host.queued)}${host.in_window ? `, ${count(host.in_window)} of them in memory` : ""}`],
    ["Fetched", `${count(host.pages)} pages, ${count(host.requests)} requests`],
    ["Last request ended", when(host.last_ended, now)],
    ["Address", host.address],
    ["Failures in a row", Object.entries(host.failures).map(([kind, n]) => `${words(kind)}: ${n}`).join(", ")],
    ["Known on disk", host.known ? "yes" : "no"],
    ["In memory", host.in_memory ? "yes" : "no"],
  ];
}

function urlPart(url) {
  const file = url.file ? `, ${url.file} at byte ${count(url.offset)}` : url.no_file ? `, in a file whose name is not known: ${url.no_file}` : "";
  const where = url.archived_by === null ? "" : `${named(url.archived_by)}${file}`;
  return [
    el("p", { class: "verdict" }, `This URL: ${words(url.fate)}${url.reason ? `, ${words(url.reason)}` : ""}${url.meaning ? ` (${url.meaning})` : ""}`),
    story([
      ["URL", url.url],
      ["Fetched", url.fetched === null ? "" : time(url.fetched)],
      ["Status", url.status || ""],
      ["Archived by", where],
      ["Links from a seed", count(url.depth)],
      ["Attempts", url.attempts || ""],
      ["Before it in the queue", url.ahead === null ? "" : count(url.ahead)],
    ]),
  ];
}

function draw(asked, answer) {
  const why = answer.answer;
  if (!why) return [el("p", { class: "empty" }, gaps(answer, "Why") || "Nobody can tell.")];
  const parts = [];
  const host = why.host;
  if (host) parts.push(el("p", { class: "verdict" }, `${host.name}: ${host.detail || words(host.reason)}`));
  if (why.url) parts.push(...urlPart(why.url));
  parts.push(story([
    ["Group", `${why.group_name} (${why.group})`],
    ["Owner", named(why.owner)],
    ["Told by", `${named(why.agent)}: ${words(why.hold)}`],
    ...(host ? hostRows(host, why.now) : []),
  ]));
  for (const one of host?.robots ?? []) {
    parts.push(el("h4", {}, `robots.txt of ${one.origin}`), story([
      ["State", one.state],
      ["Fetched", when(one.fetched, why.now)],
      ["Trusted", when(one.expires, why.now)],
      ["Crawl-delay", one.crawl_delay_ms === null ? "" : span(one.crawl_delay_ms)],
    ]));
  }
  if (host?.fetches?.length) {
    const table = fetchTable("Last fetches of this host", true);
    table.update(host.fetches, (fetch) => `${fetch.at} ${fetch.url}`);
    parts.push(el("h4", {}, "Last fetches"), table.box);
  }
  if (host) parts.push(el("p", {}, el("button", { type: "button", class: "small", onclick: () => block(host.name) }, "Block this host…")));
  const missing = gaps(answer, "Why");
  if (missing) parts.push(el("p", { class: "note" }, missing));
  return parts;
}

function block(name) {
  ask({
    title: `Block ${name}?`,
    body: `Nothing is fetched from ${name} any more, and what is queued for it is dropped. Taking it out of links.blocked lets it in again.`,
    yes: `Block ${name}`,
    todo: async () => announce((await post("block", { what: name, blocked: true })).done),
  });
}

/** Asks, and shows the answer beside the list. */
export async function explain(asked) {
  const panel = byId("why");
  panel.hidden = false;
  text(byId("why-title"), `Why: ${asked}`);
  byId("why-body").replaceChildren(el("p", { class: "empty" }, "Asking…"));
  byId("why-title").focus();
  try {
    byId("why-body").replaceChildren(...draw(asked, await get("why", { text: asked })));
  } catch (error) {
    byId("why-body").replaceChildren(el("p", { class: "bad" }, error.message));
  }
}

export function start() {
  byId("why-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const asked = new FormData(event.target).get("text").trim();
    if (asked) explain(asked);
  });
  byId("why-close").addEventListener("click", () => {
    byId("why").hidden = true;
    byId("hosts-form").elements.contains.focus();
  });
}
