// A small chart of at most the last ten minutes: a line over an area, with a sentence for screen readers.

import { el, svg, text } from "./dom.js";
import { duration } from "./format.js";

const WIDTH = 600;
const HEIGHT = 80;
/** Possible widths of the time axis, in minutes. The chart uses the smallest that holds all points. */
const MINUTES = [1, 2, 5, 10];

export class Chart {
  constructor(title, format) {
    this.title = title;
    this.format = format;
    this.points = [];
    this.shownMs = 60_000 * MINUTES[0];
    this.value = el("b", {}, "–");
    this.area = svg("path", { class: "area" });
    this.line = svg("path", { class: "line" });
    this.crosshair = svg("path", { class: "crosshair" });
    this.picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
    this.picture.append(svg("path", { class: "rule", d: `M0 ${HEIGHT}H${WIDTH}M0 0H${WIDTH}` }), this.area, this.line, this.crosshair);
    this.top = el("span", {}, "");
    this.since = el("span", {}, "");
    this.node = el("figure", { class: "chart" },
      el("figcaption", {}, el("span", {}, title), this.value),
      this.picture,
      el("p", { class: "axis" }, this.since, this.top, el("span", { class: "now" }, "now")));
    this.picture.addEventListener("pointermove", (event) => this.showPoint(event));
    this.picture.addEventListener("pointerleave", () => this.hidePoint());
  }

  /** Draws `points`, oldest first: pairs of a time in milliseconds and a number or null. Null interrupts the line. */
  draw(points) {
    this.points = points;
    const now = points.at(-1)?.[0] ?? 0;
    const age = now - (points[0]?.[0] ?? now);
    const minutes = MINUTES.find((n) => 60_000 * n >= age) ?? MINUTES.at(-1);
    this.shownMs = 60_000 * minutes;
    const values = points.filter(([, value]) => value !== null).map(([, value]) => value);
    const max = Math.max(...values, 0);
    const x = (at) => (WIDTH * (1 - (now - at) / this.shownMs)).toFixed(1);
    const y = (value) => (HEIGHT * (1 - (max > 0 ? value / max : 0) * 0.94)).toFixed(1);
    let line = "";
    let area = "";
    let run = [];
    const close = () => {
      if (run.length > 1) area += `M${run[0][0]} ${HEIGHT}${run.map(([a, b]) => `L${a} ${b}`).join("")}L${run.at(-1)[0]} ${HEIGHT}Z`;
      line += run.map(([a, b], i) => `${i ? "L" : "M"}${a} ${b}`).join("");
      run = [];
    };
    for (const [at, value] of points) {
      if (value === null) close();
      else run.push([x(at), y(value)]);
    }
    close();
    this.area.setAttribute("d", area);
    this.line.setAttribute("d", line);
    const latest = points.at(-1)?.[1] ?? null;
    if (!this.isPointing) text(this.value, this.format(latest));
    text(this.since, `−${minutes} min`);
    text(this.top, `max ${this.format(values.length ? max : null)}`);
    this.picture.setAttribute("aria-label",
      `${this.title}, last ${minutes} min: now ${this.format(latest)}, highest ${this.format(values.length ? max : null)}`);
  }

  /** Shows the value of the point nearest to the pointer. */
  showPoint(event) {
    const box = this.picture.getBoundingClientRect();
    const now = this.points.at(-1)?.[0];
    if (now === undefined || box.width === 0) return;
    const share = (event.clientX - box.left) / box.width;
    const at = now - this.shownMs * (1 - share);
    const near = this.points.reduce((best, one) => (Math.abs(one[0] - at) < Math.abs(best[0] - at) ? one : best));
    this.isPointing = true;
    const x = WIDTH * (1 - (now - near[0]) / this.shownMs);
    this.crosshair.setAttribute("d", `M${x} 0V${HEIGHT}`);
    text(this.value, `${this.format(near[1])}, ${duration(now - near[0])} ago`);
  }

  /** Shows the latest value again. */
  hidePoint() {
    this.isPointing = false;
    this.crosshair.setAttribute("d", "");
    text(this.value, this.format(this.points.at(-1)?.[1] ?? null));
  }
}
