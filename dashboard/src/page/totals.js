// The totals of the cluster, and their charts.

import { get } from "./api.js";
import { Chart } from "./chart.js";
import { byId, el, text } from "./dom.js";
import { bytes, count, percent, rate } from "./format.js";

const perSecond = (value) => `${rate(value)}/s`;
const NUMBERS = [
  ["pages", "Pages", (t) => count(t.pages), (t) => (t.pages ? `${perSecond(t.pages_per_second)}, ${percent(t.pages_by_class[1] / t.pages)} 2xx` : perSecond(t.pages_per_second))],
  ["bytes", "Downloaded", (t) => bytes(t.bytes), (t) => (t.bytes_per_second === null ? "–/s" : `${bytes(t.bytes_per_second)}/s`)],
  ["queued", "URLs queued", (t) => count(t.urls_queued), (t) => `${count(t.urls_seen)} seen`],
  ["hosts", "Hosts ready", (t) => count(t.hosts_ready), (t) => `${count(t.hosts_waiting)} waiting, ${count(t.hosts_resting)} resting${t.hosts_paused ? `, ${count(t.hosts_paused)} paused` : ""}`],
  ["errors", "Errors", (t) => count(t.errors), (t) => `4xx ${count(t.pages_by_class[3])}, 5xx ${count(t.pages_by_class[4])}; ${count(t.discards)} discarded`],
  ["agents", "Agents", (t) => count(t.agents_active), (t) => {
    const more = [t.agents_draining && `${t.agents_draining} draining`, t.agents_dead && `${t.agents_dead} dead`];
    return more.filter(Boolean).join(", ") || "all active";
  }],
];
// Shown if pages are fetched again.
const RECRAWL_NUMBERS = [
  ["fresh", "Fresh copies", (t) => (t.fresh === null ? "–" : `≈ ${percent(t.fresh)}`), ({ recrawl: r }) => {
    const late = [r.overdue !== null && `${count(r.overdue)} > 1 min`, r.lateness !== null && `≈ ${count(Math.round(r.lateness))} s late`].filter(Boolean).join(", ");
    return `${count(r.queued + r.scheduled)} known: ${count(r.queued)} due${late && ` (${late})`}, ${count(r.scheduled)} later`;
  }],
  ["again", "Fetched again", ({ recrawl: r }) => count(r.changed + r.unchanged + r.not_modified + r.failed),
    ({ recrawl: r }) => `${count(r.new)} new; ${count(r.changed)} changed, ${count(r.unchanged + r.not_modified)} not${r.not_modified ? ` (${count(r.not_modified)} by 304)` : ""}, ${count(r.failed)} failed`],
];
const CHARTS = [
  ["pages_per_second", "Pages per second", rate],
  ["bytes_per_second", "Bytes per second", bytes],
  ["urls_queued", "URLs queued", count],
  ["errors_per_second", "Errors per second", rate],
];
const FRESH_CHART = ["fresh", "Fresh copies, estimated", (share) => (share === null ? "–" : percent(share))];
const POINTS_MAX = 600;

let history = [];
const cells = new Map();
const newChart = ([key, title, format]) => ({ key, chart: new Chart(title, format) });
const charts = CHARTS.map(newChart);
let showsRecrawl = false;

function addNumbers(numbers) {
  for (const [id, label] of numbers) {
    const value = el("span", { id: `total-${id}` }, "–");
    const more = el("small", { id: `total-${id}-more` }, "\u00a0");
    cells.set(id, { value, more });
    byId("totals").append(el("div", {}, el("dt", {}, label), el("dd", {}, value, more)));
  }
}

export function start() {
  addNumbers(NUMBERS);
  byId("charts").append(...charts.map(({ chart }) => chart.node));
}

/** Adds what concerns pages that are fetched again, once any are. */
function startRecrawl() {
  showsRecrawl = true;
  for (const id of ["totals", "charts"]) byId(id).classList.add("wide");
  addNumbers(RECRAWL_NUMBERS);
  const fresh = newChart(FRESH_CHART);
  charts.push(fresh);
  byId("charts").append(fresh.chart.node);
}

/** Loads the points of the charts from before the page was opened. */
export async function loadHistory() {
  const past = await get("history");
  const keys = [...CHARTS, FRESH_CHART].map(([key]) => key);
  history = past.at.map((at, i) => ({ at, ...Object.fromEntries(keys.map((key) => [key, past[key][i]])) }));
}

export function show(cluster) {
  const totals = cluster.totals;
  if (totals.recrawl && !showsRecrawl) startRecrawl();
  for (const [id, , value, more] of totals.recrawl ? [...NUMBERS, ...RECRAWL_NUMBERS] : NUMBERS) {
    text(cells.get(id).value, value(totals));
    text(cells.get(id).more, more(totals));
  }
  const hasData = totals.agents_answered > 0;
  if (cluster.now > (history.at(-1)?.at ?? 0)) {
    history.push({ at: cluster.now, ...totals, urls_queued: hasData ? totals.urls_queued : null });
    history = history.slice(-POINTS_MAX);
  }
  for (const { key, chart } of charts) chart.draw(history.map((point) => [point.at, point[key]]));
}
