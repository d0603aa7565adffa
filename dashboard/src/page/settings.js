// The settings in force, what each means, and changing one.

import { get, post } from "./api.js";
import { ask } from "./confirm.js";
import { byId, el, text } from "./dom.js";

let known = { revision: 0, settings: [] };

export function start() {
  byId("settings-form").addEventListener("input", draw);
  byId("settings-form").addEventListener("submit", (event) => event.preventDefault());
}

export async function refresh() {
  const answer = await get("settings");
  if (answer.revision === known.revision && JSON.stringify(answer) === JSON.stringify(known)) return;
  known = answer;
  draw();
}

/** Says whether all agents go by the revision that is the coordinator's. */
export function remember(cluster) {
  const alive = cluster.agents.filter((agent) => agent.state !== "dead");
  const behind = alive.filter((agent) => (agent.settings_revision ?? 0) < cluster.settings_revision);
  const agents = (n) => (n === 1 ? "1 agent" : `${n} agents`);
  const by = behind.length ? `${alive.length - behind.length} of ${agents(alive.length)}, not yet with ${behind.map((agent) => agent.name).join(", ")}` : agents(alive.length);
  text(byId("settings-force"), alive.length
    ? `Revision ${cluster.settings_revision} is in force with ${by}.`
    : `Revision ${cluster.settings_revision} is in force for agents that join; no agent is running.`);
}

function effect(one) {
  if (one.permanent) return "fixed for the life of the crawl";
  if (one.live === true) return "takes effect at once";
  if (one.live === false) return "takes effect when the agents start again";
  return "";
}

function row(one) {
  const differs = one.value !== one.default;
  const change = one.permanent ? null
    : el("button", { type: "button", class: "small", "aria-label": `Change ${one.key}`, onclick: () => edit(one) }, "Change…");
  return el("tr", { role: "row", "data-key": one.key },
    el("td", { role: "cell", "data-label": "Setting", class: "wide" }, el("span", {}, el("code", {}, one.key), el("span", { class: "sub" }, one.meaning))),
    el("td", { role: "cell", "data-label": "Value", class: "wide" },
      el("span", {}, el("code", { class: differs ? "changed" : null }, one.value),
        one.unit && one.value !== "\"none\"" ? ` ${one.unit}` : "",
        differs ? el("span", { class: "sub" }, "default: ", el("code", {}, one.default)) : null,
        effect(one) ? el("span", { class: "sub" }, effect(one)) : null)),
    el("td", { role: "cell", "data-label": "Change", class: "act num" }, change));
}

function draw() {
  const form = byId("settings-form").elements;
  const part = form.contains.value.trim().toLowerCase();
  const wanted = known.settings.filter((one) =>
    (!part || one.key.includes(part) || one.meaning.toLowerCase().includes(part)) &&
    (!form.changed.checked || one.value !== one.default));
  const sections = Map.groupBy ? Map.groupBy(wanted, (one) => one.section) : group(wanted);
  const panels = [...sections].map(([section, all]) => {
    const id = `section-${section}`;
    const head = (label, kind = null) => el("th", { scope: "col", role: "columnheader", class: kind }, label);
    return el("section", { class: "panel group", "aria-labelledby": id }, el("h3", { id }, section),
      el("table", { class: "cards even", role: "table" },
        el("caption", { class: "hidden" }, `Settings of ${section}`),
        el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, head("Setting"), head("Value"), head("Change", "num"))),
        el("tbody", { role: "rowgroup" }, ...all.map(row))));
  });
  byId("settings-list").replaceChildren(...(panels.length ? panels : [el("p", { class: "empty" }, "No such setting.")]));
}

function group(all) {
  const sections = new Map();
  for (const one of all) sections.set(one.section, [...(sections.get(one.section) ?? []), one]);
  return sections;
}

function edit(one) {
  // What is shown now is what is changed, whatever comes in while somebody thinks.
  const { revision } = known;
  // A text is shown without its quotes, as it may be written behind --set.
  const plain = /^"[^"\\]*"$/.test(one.value) ? one.value.slice(1, -1) : one.value;
  const input = el("input", { name: "value", value: plain, autocomplete: "off", spellcheck: "false" });
  ask({
    title: `Change ${one.key}`,
    body: [
      one.meaning,
      el("label", {}, `New value of ${one.key}`, input),
      el("p", { class: "note" }, `Write ${one.write}. Default: ${one.default}. ${effect(one)}`),
      el("label", { class: "check" }, el("input", { type: "checkbox", name: "unset" }), "Reset to the default"),
      "All agents will use the new value.",
    ],
    yes: "Change",
    todo: async (form) => {
      const change = form.get("unset") ? { unset: true } : { value: form.get("value") };
      const done = await post("settings", { edits: [{ key: one.key, ...change }], revision });
      text(byId("settings-said"), `${one.key}: ${done.done}.`);
      await refresh();
    },
  });
}
