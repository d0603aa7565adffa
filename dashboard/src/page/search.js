// Searches in the indexes of all agents.

import { get } from "./api.js";
import { byId, el, missingData } from "./dom.js";

/** Number of the last search: answers of earlier ones are not shown. */
let last = 0;

/** Returns the address of a result, if a browser may follow it. */
function link(url) {
  return /^https?:\/\//.test(url) ? url : null;
}

function draw(result) {
  const title = result.title || "(no title)";
  const href = link(result.url);
  const heading = href
    ? el("a", { href, target: "_blank", rel: "noopener noreferrer nofollow" }, title)
    : el("span", {}, title);
  const text = `/api/page?${new URLSearchParams({ agent: result.agent, url: result.url })}`;
  const near = result.near_duplicates ? `, and ${result.near_duplicates} near-duplicates` : "";
  return el("li", {},
    el("h3", {}, heading),
    el("p", { class: "address" }, result.url),
    el("p", {}, ...result.snippet.map(([part, isMatch]) => (isMatch ? el("mark", {}, part) : part))),
    el("p", { class: "muted" }, `${result.date}, ${result.agent_name}, score ${result.score.toFixed(3)}${near}. `,
      el("a", { href: text, target: "_blank", rel: "noopener" }, "Archived text")));
}

function summary(answer) {
  const lines = [`${answer.found}${answer.is_partial ? " or more" : ""} found.`];
  if (answer.bounds.length) lines.push(`The search ended early: bound of ${answer.bounds.join(" and ")}.`);
  if (answer.ignored.length) lines.push(`Stop-words left out: ${answer.ignored.join(", ")}.`);
  if (answer.cut_prefixes.length) lines.push(`Only the first words of ${answer.cut_prefixes.join(", ")} were searched.`);
  const missing = missingData(answer, "Search");
  return missing ? [...lines, missing].join(" ") : lines.join(" ");
}

async function search(text) {
  const number = ++last;
  const [note, list] = [byId("search-note"), byId("search-list")];
  note.className = "note";
  note.textContent = "Searching…";
  list.replaceChildren();
  try {
    const answer = await get("search", { text });
    if (number !== last) return;
    note.textContent = summary(answer);
    list.replaceChildren(...answer.results.map(draw));
  } catch (error) {
    if (number !== last) return;
    note.className = "note bad";
    note.textContent = error.message;
  }
}

export function start() {
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = new FormData(event.target).get("text").trim();
    if (text) search(text);
  });
}
