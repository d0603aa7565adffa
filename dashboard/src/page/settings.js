// The settings in force with their meaning, and the dialog that changes one.

import { get, post } from "./api.js";
import { openDialog } from "./confirm.js";
import { byId, el, text } from "./dom.js";

let current = { revision: 0, settings: [] };

export function start() {
  byId("settings-form").addEventListener("input", draw);
  byId("settings-form").addEventListener("submit", (event) => event.preventDefault());
}

export async function refresh() {
  const answer = await get("settings");
  if (answer.revision === current.revision && JSON.stringify(answer) === JSON.stringify(current)) return;
  current = answer;
  draw();
}

/** Shows which agents use the coordinator's revision of the settings. */
export function onCluster(cluster) {
  const alive = cluster.agents.filter((agent) => agent.state !== "dead");
  const behind = alive.filter((agent) => (agent.settings_revision ?? 0) < cluster.settings_revision);
  const agents = (n) => (n === 1 ? "1 agent" : `${n} agents`);
  const users = behind.length ? `${alive.length - behind.length} of ${agents(alive.length)}, not yet with ${behind.map((agent) => agent.name).join(", ")}` : agents(alive.length);
  text(byId("settings-force"), alive.length
    ? `Revision ${cluster.settings_revision} is in force with ${users}.`
    : `Revision ${cluster.settings_revision} is in force for agents that join; no agent is running.`);
}

/** Returns when a change of a setting takes effect, as a phrase; empty if unknown. */
function effect(setting) {
  if (setting.permanent) return "fixed for the life of the crawl";
  if (setting.live === true) return "takes effect at once";
  if (setting.live === false) return "takes effect when the agents start again";
  return "";
}

function row(setting) {
  const differs = setting.value !== setting.default;
  const change = setting.permanent ? null
    : el("button", { type: "button", class: "small", "aria-label": `Change ${setting.key}`, onclick: () => edit(setting) }, "Change…");
  return el("tr", { role: "row", "data-key": setting.key },
    el("td", { role: "cell", "data-label": "Setting", class: "wide" }, el("span", {}, el("code", {}, setting.key), el("span", { class: "sub" }, setting.meaning))),
    el("td", { role: "cell", "data-label": "Value", class: "wide" },
      el("span", {}, el("code", { class: differs ? "changed" : null }, setting.value),
        setting.unit && setting.value !== "\"none\"" ? ` ${setting.unit}` : "",
        differs ? el("span", { class: "sub" }, "default: ", el("code", {}, setting.default)) : null,
        effect(setting) ? el("span", { class: "sub" }, effect(setting)) : null)),
    el("td", { role: "cell", "data-label": "Change", class: "buttons num" }, change));
}

function draw() {
  const form = byId("settings-form").elements;
  const search = form.contains.value.trim().toLowerCase();
  const matching = current.settings.filter((setting) =>
    (!search || setting.key.includes(search) || setting.meaning.toLowerCase().includes(search)) &&
    (!form.changed.checked || setting.value !== setting.default));
  const sections = Map.groupBy ? Map.groupBy(matching, (setting) => setting.section) : groupBySection(matching);
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

/** Replaces `Map.groupBy` in browsers without it. */
function groupBySection(all) {
  const sections = new Map();
  for (const setting of all) sections.set(setting.section, [...(sections.get(setting.section) ?? []), setting]);
  return sections;
}

function edit(setting) {
  // The revision shown when the dialog opens: the edit is refused if the settings have changed since.
  const { revision } = current;
  // A string is shown without quotes; values may be written so, as with --set.
  const plain = /^"[^"\\]*"$/.test(setting.value) ? setting.value.slice(1, -1) : setting.value;
  const input = el("input", { name: "value", value: plain, autocomplete: "off", spellcheck: "false" });
  openDialog({
    title: `Change ${setting.key}`,
    body: [
      setting.meaning,
      el("label", {}, `New value of ${setting.key}`, input),
      el("p", { class: "note" }, `Write ${setting.write}. Default: ${setting.default}. ${effect(setting)}`),
      el("label", { class: "check" }, el("input", { type: "checkbox", name: "unset" }), "Reset to the default"),
      "All agents will use the new value.",
    ],
    confirmLabel: "Change",
    onConfirm: async (form) => {
      const change = form.get("unset") ? { unset: true } : { value: form.get("value") };
      const done = await post("settings", { edits: [{ key: setting.key, ...change }], revision });
      text(byId("settings-said"), `${setting.key}: ${done.done}.`);
      await refresh();
    },
  });
}
