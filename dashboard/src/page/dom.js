// Creation and update of elements. Updates keep existing elements, so that focus is not lost.

/** Creates an element with attributes (`class`, `data-…`), listeners (`on…` functions) and children. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Creates an SVG element with attributes. */
export function svg(tag, attributes = {}) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

export const byId = (id) => document.getElementById(id);

/** Sets the text of an element if it differs. */
export function text(node, value) {
  const string = String(value);
  if (node.textContent !== string) node.textContent = string;
}

/** Creates the badge of a state: its name, with a mark and a color. */
export function stateBadge(name) {
  const node = el("span", { class: "state" });
  setState(node, name);
  return node;
}

/** Sets the state of a badge; `label` is the text to show. */
export function setState(node, name, label = name) {
  node.dataset.state = name;
  text(node, label);
}

/**
 * A table that keeps the element of each row while its data has the row.
 * Columns are { label, num, buttons, wide, key, text(row) } or { label, make(td, row), show(td, row) }.
 */
export class Table {
  constructor(caption, columns) {
    this.columns = columns;
    this.rows = new Map();
    const heads = columns.map((column) =>
      el("th", { scope: "col", role: "columnheader", class: column.num ? "num" : null },
        column.buttons ? el("span", { class: "hidden" }, column.label) : column.label));
    this.body = el("tbody", { role: "rowgroup" });
    // The default roles of a table, which the `display` values of the layout for phones would remove.
    this.node = el("table", { class: "cards", role: "table" },
      el("caption", { class: "hidden" }, caption),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...heads)), this.body);
    this.empty = el("p", { class: "empty", hidden: true });
    this.box = el("div", { class: "scroll" }, this.node, this.empty);
  }

  /** Shows `rows` in this order. `keyOf` returns the identity of a row; `decorate` may mark its element. */
  update(rows, keyOf, { empty = "Nothing.", decorate = () => {} } = {}) {
    const markNew = this.rows.size > 0;
    const seen = new Set();
    let before = null;
    for (const row of rows) {
      const key = String(keyOf(row));
      seen.add(key);
      let tr = this.rows.get(key);
      if (!tr) {
        tr = this.make(row);
        if (markNew) tr.classList.add("new");
        this.rows.set(key, tr);
      }
      this.columns.forEach((column, i) => {
        const cell = tr.cells[i];
        if (column.show) column.show(cell, row);
        else if (column.text) text(cell, column.text(row));
      });
      decorate(tr, row);
      const place = before ? before.nextSibling : this.body.firstChild;
      if (place !== tr) this.body.insertBefore(tr, place);
      before = tr;
    }
    for (const [key, tr] of this.rows) {
      if (!seen.has(key)) {
        tr.remove();
        this.rows.delete(key);
      }
    }
    this.node.hidden = rows.length === 0;
    this.empty.hidden = rows.length > 0;
    text(this.empty, empty);
  }

  make(row) {
    return el("tr", { role: "row" }, ...this.columns.map((column) => {
      const kind = [column.num && "num", column.buttons && "buttons", column.wide && "wide", column.key && "key"];
      const cell = el("td", { role: "cell", "data-label": column.label, class: kind.filter(Boolean).join(" ") || null });
      column.make?.(cell, row);
      return cell;
    }));
  }
}

/** Returns a note that lists the agents without data; empty if all answered. */
export function missingData(answer, what) {
  if (!answer.available) return `${what}: not available: the agents run an older version.`;
  if (!answer.silent?.length) return "";
  return `No data from ${answer.silent.map((one) => `${one.agent} (${one.why})`).join(", ")}.`;
}
