// Who crawls which groups: a sample of 1,024, a square each, in the color of its owner. Groups that
// move are marked, and told in words.

import { get } from "./api.js";
import { color, names } from "./agents.js";
import { byId, el, svg, text } from "./dom.js";
import { count, percent } from "./format.js";

const SIDE = 32;
/** A group that moved stays marked for so long. */
const MARKED = 15000;

const picture = svg("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, role: "img", "aria-describedby": "assignment-words" });
const legend = el("ul", { class: "legend", "aria-label": "Share of each agent" });
const words = el("p", { class: "note", id: "assignment-words" });
let squares = [];
let owners = [];
let epoch = null;
let picked = null;
let called = new Map();

export function start() {
  byId("assignment").append(el("div", { class: "matrix" }, picture, el("div", {}, legend, words)));
  byId("tidy").addEventListener("click", () => {
    place(true);
    paint([]);
  });
}

/** Asks anew when the view is another one. */
export async function show(cluster) {
  called = names(cluster);
  if (cluster.epoch === epoch) return;
  const drawn = await get("assignment");
  const first = owners.length === 0;
  const before = first ? (drawn.before?.owners ?? drawn.owners) : owners;
  owners = drawn.owners;
  epoch = drawn.epoch;
  if (squares.length === 0 || before.every((owner) => owner === null)) place(true);
  const moved = owners.map((owner, i) => [i, before[i], owner]).filter(([, was, is]) => was !== is);
  paint(first ? [] : moved.map(([i]) => i));
  tell(drawn.strategy, moved, first);
}

/** Puts the squares in their places: those of one agent beside each other. */
function place(sorted) {
  const order = owners.map((_, i) => i);
  if (sorted) order.sort((a, b) => (owners[a] ?? 1e9) - (owners[b] ?? 1e9) || a - b);
  squares = [];
  picture.replaceChildren(...order.map((group, at) => {
    // Down the columns, so that the shares stand side by side.
    const square = svg("rect", { x: Math.floor(at / SIDE) + 0.06, y: (at % SIDE) + 0.06, width: 0.88, height: 0.88, rx: 0.18 });
    squares[group] = square;
    return square;
  }));
}

function paint(moved) {
  const marked = new Set(moved);
  squares.forEach((square, i) => {
    const owner = owners[i];
    const kind = owner === null ? "none" : color(owner);
    const is = [kind, marked.has(i) && "moved", owner === picked && "picked"].filter(Boolean).join(" ");
    if (square.getAttribute("class") !== is) square.setAttribute("class", is);
  });
  picture.classList.toggle("pick", picked !== null);
  if (moved.length) setTimeout(() => squares.forEach((square) => square.classList.remove("moved")), MARKED);
  key();
}

function key() {
  const sums = new Map();
  for (const owner of owners) sums.set(owner, (sums.get(owner) ?? 0) + 1);
  const rows = [...sums].sort((a, b) => (a[0] ?? 1e9) - (b[0] ?? 1e9));
  const focused = document.activeElement?.dataset?.owner;
  legend.replaceChildren(...rows.map(([owner, n]) => el("li", {}, el("button", {
    type: "button",
    "data-owner": String(owner),
    "aria-pressed": String(owner === picked && picked !== null),
    title: "Show only the groups of this agent",
    onclick: () => {
      picked = picked === owner ? null : owner;
      paint([]);
    },
  }, el("span", { class: "name" }, el("i", { class: `swatch ${owner === null ? "none" : color(owner)}` }), called.get(owner) ?? "no agent"),
  el("span", {}, percent(n / owners.length))))));
  if (focused) legend.querySelector(`[data-owner="${focused}"]`)?.focus();
}

function tell(strategy, moved, first) {
  const ways = new Map();
  for (const [, was, is] of moved) {
    const way = `${called.get(was) ?? (was === null ? "no agent" : `agent ${was}`)} → ${called.get(is) ?? "no agent"}`;
    ways.set(way, (ways.get(way) ?? 0) + 1);
  }
  const list = [...ways].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([way, n]) => `${way} ${count(n)}`).join(", ");
  const what = `A sample of ${count(owners.length)} groups, assigned by ${strategy}.`;
  text(words, moved.length ? `${what} ${first ? "Last change" : `Epoch ${epoch}`}: ${count(moved.length)} moved (${list}).` : what);
  picture.setAttribute("aria-label", "Sampled groups by owner");
}
