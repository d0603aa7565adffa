// Obstacles to progress or completion, with their remedies.

import { byId, el } from "./dom.js";

let shown = "";

export function show(cluster) {
  const texts = cluster.obstacles.map((obstacle) => obstacle.text);
  byId("obstacles").hidden = texts.length === 0;
  // Elements are replaced only if the text has changed, so that screen readers read it once.
  const kinds = cluster.obstacles.map((obstacle) => `${obstacle.kind} ${obstacle.agent}`).join();
  if (kinds === shown) return;
  shown = kinds;
  byId("obstacles").replaceChildren(...texts.map((text) => el("li", {}, text)));
}
