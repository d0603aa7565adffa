// The stream of cluster states from the coordinator, and the banner shown while it does not respond.

import { get } from "./api.js";
import { byId, text } from "./dom.js";
import { duration, time } from "./format.js";

/** Time without a state after which the coordinator is lost, in milliseconds. It sends one each second. */
const SILENCE_MS = 4000;
/** Delay before a refused stream is opened again, in milliseconds. */
const RETRY_MS = 1500;

/** Calls `onCluster` with each state of the cluster. Calls `onConnect` before the first one and after each loss. */
export function subscribe(onCluster, onConnect) {
  const banner = byId("lost");
  let last = null;
  const started = Date.now();
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
        onConnect();
      }
      onCluster(JSON.parse(event.data));
    });
    source.addEventListener("error", () => {
      if (last !== null || Date.now() - started > SILENCE_MS) showLost();
      // An EventSource reconnects by itself unless the request was refused.
      if (source.readyState === EventSource.CLOSED) {
        setTimeout(open, RETRY_MS);
        // If the reason is a missing login, this opens the login page.
        get("cluster").catch(() => {});
      }
    });
  };

  const showLost = () => {
    lost = true;
    document.body.classList.add("lost");
    banner.hidden = false;
  };

  setInterval(() => {
    if (Date.now() - (last ?? started) > SILENCE_MS) showLost();
    if (banner.hidden) return;
    text(banner, last === null
      ? "The coordinator does not respond. Retrying…"
      : `The coordinator does not respond: last update at ${time(last)}, ${duration(Math.round((Date.now() - last) / 1000) * 1000)} ago. ` +
        "The numbers are from that time. The agents continue without it. Retrying…");
  }, 500);
  open();
}
