// Errors and discards, by kind.

import { get } from "./api.js";
import { Table, byId, el, missingData, text } from "./dom.js";
import { count, withSpaces } from "./format.js";

const note = el("p", { class: "note", role: "status" });

/** Creates a table of counts with bars; `withMeaning` adds the meaning of each kind. */
function countsTable(caption, withMeaning) {
  let max = 1;
  const table = new Table(caption, [
    {
      label: "Kind",
      make: (td, row) => td.append(el("span", {}, withSpaces(row.name), withMeaning && row.meaning ? el("span", { class: "sub" }, row.meaning) : null)),
      show: () => {},
    },
    {
      label: "Count",
      num: true,
      make: (td) => td.append(el("span", {}, el("span", { class: "bar", "aria-hidden": "true" }, el("i")), el("span"))),
      show: (td, row) => {
        td.querySelector("i").style.width = `${(row.count / max) * 100}%`;
        text(td.firstChild.lastChild, count(row.count));
      },
    },
  ]);
  const update = (rows, empty) => {
    max = Math.max(...rows.map((row) => row.count), 1);
    table.update(rows, (row) => row.name, { empty });
  };
  return { box: table.box, update };
}

const failures = countsTable("Errors by kind", false);
const discards = countsTable("Discards by kind", true);

export function start() {
  const panel = (id, title, lead, table) => el("section", { class: "panel", "aria-labelledby": id },
    el("h3", { id }, title), el("p", { class: "note" }, lead), table.box);
  byId("errors-body").append(
    panel("failures-title", "Errors", "Requests without a usable response. Each attempt counts.", failures),
    panel("discards-title", "Discards", "URLs and pages that were discarded permanently.", discards));
  byId("errors").append(note);
}

export async function refresh() {
  const answer = await get("discards");
  const empty = answer.available ? "None so far." : "Not available.";
  failures.update(answer.failures, empty);
  discards.update(answer.discards, empty);
  text(note, missingData(answer, "Errors and discards by kind"));
}
