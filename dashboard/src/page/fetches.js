// The latest fetches of all agents.

import { get } from "./api.js";
import { byId, el, missingData, text } from "./dom.js";
import { fetchTable } from "./why.js";

const table = fetchTable("Recent fetches");
const note = el("p", { class: "note", role: "status" });

export function start(refresh) {
  byId("fetches-list").append(table.box, note);
  byId("fetches-form").addEventListener("change", refresh);
  byId("fetches-form").addEventListener("submit", (event) => event.preventDefault());
}

export async function refresh() {
  const failed = byId("fetches-form").elements.failed.checked;
  const answer = await get("fetches", { failed });
  table.update(answer.fetches, (fetch) => `${fetch.agent} ${fetch.at} ${fetch.url}`, { empty: answer.available ? "None yet." : "" });
  text(note, missingData(answer, "Recent fetches"));
}
