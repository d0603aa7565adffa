// Numbers as they come, and the truth when they do not.

import { get } from "./api.js";
import { byId, text } from "./dom.js";
import { span, time } from "./format.js";

/** Without news for so long, the coordinator is lost: it sends some each second. */
const SILENCE = 4000;
const RETRY = 1500;

/** Calls `heard` with each state of the cluster, `found` whenever it is back, or there at last. */
export function listen(heard, found) {
  const banner = byId("lost");
  let last = null;
  let began = Date.now();
  let lost = true;
  let source = null;

  const open = () => {
    source?.close();
    source = new EventSource("/api/events");
    source.addEventListener("cluster", (event) => {
      last = Date.now();
      if (lost) {
        lost = false;
        document.body.classList.remove("lost");
        banner.hidden = true;
        found();
      }
      heard(JSON.parse(event.data));
    });
    source.addEventListener("error", () => {
      if (last !== null || Date.now() - began > SILENCE) declare();
      // It tries again by itself, unless it was refused.
      if (source.readyState === EventSource.CLOSED) {
        setTimeout(open, RETRY);
        // Leads to the login where that is why.
        get("cluster").catch(() => {});
      }
    });
  };

  const declare = () => {
    lost = true;
    document.body.classList.add("lost");
    banner.hidden = false;
  };

  setInterval(() => {
    if (Date.now() - (last ?? began) > SILENCE) declare();
    if (banner.hidden) return;
    text(banner, last === null
      ? "The coordinator does not respond. Retrying…"
      : `The coordinator does not respond: last update at ${time(last)}, ${span(Math.round((Date.now() - last) / 1000) * 1000)} ago. ` +
        "The numbers are from that time. The agents continue without it. Retrying…");
  }, 500);
  open();
}
