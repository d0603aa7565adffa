// The table of agents, with the buttons that drain an agent or remove a dead one.

import { post, streamLines } from "./api.js";
import { announce, openDialog } from "./confirm.js";
import { Table, byId, el, setState, stateBadge, text } from "./dom.js";
import { bytes, count, duration, percent, rate } from "./format.js";

/** Returns the CSS classes of an agent's color. It depends only on the id, so all browsers show the same color. */
export function colorClass(id) {
  const n = Number(id) || 0;
  return `k${n % 8}${Math.floor(n / 8) % 2 ? " alt" : ""}`;
}

const table = new Table("Agents", [
  {
    label: "Agent",
    make: (td, agent) => td.append(el("span", {}, el("i", { class: `swatch ${colorClass(agent.id)}` }), el("b", {}, agent.name), el("span", { class: "sub address", title: agent.address }, agent.address))),
    show: () => {},
  },
  {
    label: "State",
    make: (td) => td.append(stateBadge("")),
    show: (td, agent) => {
      const silent = agent.state !== "dead" && agent.unreachable;
      setState(td.firstChild, silent ? "silent" : agent.state, silent ? `${agent.state}, unreachable` : agent.state);
    },
  },
  {
    label: "Share",
    num: true,
    make: (td) => td.append(el("span", {}, el("span", { class: "bar", "aria-hidden": "true" }, el("i")), el("span"))),
    show: (td, agent) => {
      td.querySelector("i").style.width = `${agent.share * 100}%`;
      text(td.firstChild.lastChild, percent(agent.share));
    },
  },
  { label: "Pages", num: true, text: (agent) => count(agent.pages) },
  { label: "Pages/s", num: true, text: (agent) => rate(agent.pages_per_second) },
  { label: "Queued", num: true, text: (agent) => count(agent.urls_queued) },
  { label: "Outbox", num: true, text: (agent) => count(agent.outbox) },
  { label: "Moving", num: true, text: (agent) => count(agent.handoffs) },
  { label: "Memory", num: true, text: (agent) => bytes(agent.memory_bytes) },
  { label: "Disk", num: true, text: (agent) => bytes(agent.disk_used_bytes) },
  { label: "Lease", num: true, text: (agent) => (agent.lease_left_ms === null ? "–" : duration(Math.round(agent.lease_left_ms / 1000) * 1000)) },
  { label: "Pace", wide: true, text: (agent) => agent.unreachable ?? agent.pace ?? "–" },
  {
    label: "Actions",
    buttons: true,
    make: (td, agent) => td.append(
      el("button", { type: "button", class: "small", "data-act": "drain", "aria-label": `Drain ${agent.name}`, onclick: () => drain(agent.name) }, "Drain"),
      el("button", { type: "button", class: "small", "data-act": "remove", "aria-label": `Remove ${agent.name}`, onclick: () => remove(agent.name) }, "Remove…")),
    show: (td, agent) => {
      td.firstChild.hidden = agent.state !== "active";
      td.lastChild.hidden = agent.state !== "dead";
    },
  },
]);

function drain(name) {
  openDialog({
    title: `Drain ${name}?`,
    body: `${name} hands all its work over to the other agents, leaves the crawl and exits. Its archive stays where it is.`,
    confirmLabel: `Drain ${name}`,
    onConfirm: async () => announce((await post("drain", { agent: name })).done),
  });
}

function remove(name) {
  const choice = el("label", {}, "Pages that exist only in its archive",
    el("select", { name: "lost" },
      el("option", { value: "" }, "count them first"),
      el("option", { value: "refetch" }, "fetch them again"),
      el("option", { value: "give-up" }, "give them up")));
  const forced = el("label", { class: "check" }, el("input", { type: "checkbox", name: "force" }),
    " although its groups may not be fully copied, or it may have URLs that no other agent has");
  openDialog({
    title: `Remove ${name}?`,
    body: [`${name} is removed permanently. An agent whose disk is intact rejoins when it is started again.`, choice, forced],
    confirmLabel: `Remove ${name}`,
    onConfirm: async (form, { signal, showProgress }) => {
      const [chosen, force] = [form.get("lost"), form.get("force") !== null];
      // Pages in a store count on towards the limit of pages.
      const needsCount = !chosen || (chosen === "refetch" && !force);
      const { pages, safe_pages } = needsCount ? await countArchived(name, signal, showProgress) : { pages: 0, safe_pages: 0 };
      if (!chosen && pages > 0) throw new Error(`${count(pages)} ${pages === 1 ? "page is" : "pages are"} only in the archive of ${name}: choose whether to fetch them again or to give them up`);
      announce((await post("remove", { agent: name, lost: chosen || "give-up", safe_pages, force })).done);
    },
  });
}

/** Counts the pages of agent `name` that no other archive has (`pages`), beside those in a store (`safe_pages`). */
async function countArchived(name, signal, showProgress) {
  const onLine = ({ seconds }) => seconds && showProgress(`still counting, ${seconds} s`);
  const counted = await streamLines("archived", { agent: name }, { signal, onLine });
  if (counted.pages === undefined) throw new Error("the coordinator closed the connection before the count was complete");
  signal.throwIfAborted();
  return counted;
}

export function start() {
  byId("agents").append(table.box);
}

export function show(cluster) {
  table.update(cluster.agents, (agent) => agent.id, {
    empty: "No agent has joined yet: start one with `crivello agent`.",
    decorate: (tr, agent) => {
      tr.dataset.state = agent.state;
      tr.dataset.agent = agent.name;
    },
  });
  const { agents_active: active, agents_answered: responding } = cluster.totals;
  text(byId("agents-line"), `${active} active, ${responding} responding`);
}

/** Returns a map from agent ids to names. */
export const agentNames = (cluster) => new Map(cluster.agents.map((agent) => [agent.id, agent.name]));
