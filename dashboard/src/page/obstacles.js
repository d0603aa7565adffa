// Obstacles to progress or completion, with their remedies.

import { byId, el } from "./dom.js";

export function show(cluster) {
  const list = byId("obstacles");
  list.hidden = cluster.obstacles.length === 0;
  const items = cluster.obstacles.map(({ kind, agent, others, disk_full, text }, i) => {
    // Screen readers read new items. One in which only the duration differs is updated in place.
    const facts = JSON.stringify([kind, agent, others, disk_full]);
    const item = list.children[i];
    if (item?.dataset.facts !== facts) return el("li", { "data-facts": facts }, text);
    if (item.textContent !== text) item.firstChild.data = text;
    return item;
  });
  if (items.length !== list.children.length || items.some((item, i) => item !== list.children[i])) {
    list.replaceChildren(...items);
  }
}
