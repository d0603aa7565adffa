// The assignment of groups: a sample of 1,024 groups as squares in the colors of their owners. Groups that
// moved are marked, and a sentence counts them.

import { get } from "./api.js";
import { agentNames, colorClass } from "./agents.js";
import { byId, el, svg, text } from "./dom.js";
import { count, percent } from "./format.js";

const SIDE = 32;
/** Time for which a moved group stays marked, in milliseconds. */
const MARKED_MS = 15000;

const picture = svg("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, role: "img", "aria-describedby": "assignment-summary" });
const legend = el("ul", { class: "legend", "aria-label": "Share of each agent" });
const summary = el("p", { class: "note", id: "assignment-summary" });
let squares = [];
let owners = [];
let epoch = null;
let selected = null;
let nameOf = new Map();

export function start() {
  byId("assignment").append(el("div", { class: "matrix" }, picture, el("div", {}, legend, summary)));
  byId("assignment-sort").addEventListener("click", () => {
    placeSquares(true);
    paint([]);
  });
}

/** Requests the assignment again if the epoch has changed. */
export async function show(cluster) {
  nameOf = agentNames(cluster);
  if (cluster.epoch === epoch) return;
  const answer = await get("assignment");
  const first = owners.length === 0;
  const before = first ? (answer.before?.owners ?? answer.owners) : owners;
  owners = answer.owners;
  epoch = answer.epoch;
  if (squares.length === 0 || before.every((owner) => owner === null)) placeSquares(true);
  const moved = owners.map((owner, i) => [i, before[i], owner]).filter(([, was, is]) => was !== is);
  paint(first ? [] : moved.map(([i]) => i));
  describe(answer.strategy, moved, first);
}

/** Creates the squares in the order of the sample; if `sorted`, in the order of their owners. */
function placeSquares(sorted) {
  const order = owners.map((_, i) => i);
  if (sorted) order.sort((a, b) => (owners[a] ?? 1e9) - (owners[b] ?? 1e9) || a - b);
  squares = [];
  picture.replaceChildren(...order.map((group, at) => {
    // Column by column, so that the shares of the agents are side by side.
    const square = svg("rect", { x: Math.floor(at / SIDE) + 0.06, y: (at % SIDE) + 0.06, width: 0.88, height: 0.88, rx: 0.18 });
    squares[group] = square;
    return square;
  }));
}

function paint(moved) {
  const marked = new Set(moved);
  squares.forEach((square, i) => {
    const owner = owners[i];
    const kind = owner === null ? "none" : colorClass(owner);
    const classes = [kind, marked.has(i) && "moved", owner === selected && "picked"].filter(Boolean).join(" ");
    if (square.getAttribute("class") !== classes) square.setAttribute("class", classes);
  });
  picture.classList.toggle("pick", selected !== null);
  if (moved.length) setTimeout(() => squares.forEach((square) => square.classList.remove("moved")), MARKED_MS);
  drawLegend();
}

function drawLegend() {
  const sums = new Map();
  for (const owner of owners) sums.set(owner, (sums.get(owner) ?? 0) + 1);
  const rows = [...sums].sort((a, b) => (a[0] ?? 1e9) - (b[0] ?? 1e9));
  const focused = document.activeElement?.dataset?.owner;
  legend.replaceChildren(...rows.map(([owner, n]) => el("li", {}, el("button", {
    type: "button",
    "data-owner": String(owner),
    "aria-pressed": String(owner === selected && selected !== null),
    title: "Show only the groups of this agent",
    onclick: () => {
      selected = selected === owner ? null : owner;
      paint([]);
    },
  }, el("span", { class: "name" }, el("i", { class: `swatch ${owner === null ? "none" : colorClass(owner)}` }), nameOf.get(owner) ?? "no agent"),
  el("span", {}, percent(n / owners.length))))));
  if (focused) legend.querySelector(`[data-owner="${focused}"]`)?.focus();
}

/** Writes the sentence below the legend: size of the sample, strategy, and the groups that moved. */
function describe(strategy, moved, first) {
  const moves = new Map();
  for (const [, was, is] of moved) {
    const move = `${nameOf.get(was) ?? (was === null ? "no agent" : `agent ${was}`)} → ${nameOf.get(is) ?? "no agent"}`;
    moves.set(move, (moves.get(move) ?? 0) + 1);
  }
  const list = [...moves].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([move, n]) => `${move} ${count(n)}`).join(", ");
  const sample = `A sample of ${count(owners.length)} groups, assigned by ${strategy}.`;
  text(summary, moved.length ? `${sample} ${first ? "Last change" : `Epoch ${epoch}`}: ${count(moved.length)} moved (${list}).` : sample);
  picture.setAttribute("aria-label", "Sampled groups by owner");
}
