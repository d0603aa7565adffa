// Elements made and kept up to date without ever being thrown away, so that focus stays where it is.

/** Makes an element: attributes (`class`, `data-…`, `on…` functions), then children. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** The same in SVG. */
export function svg(tag, attributes = {}) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

export const byId = (id) => document.getElementById(id);

/** Sets a text, if it is another one. */
export function text(node, value) {
  const string = String(value);
  if (node.textContent !== string) node.textContent = string;
}

/** A state in a word, with a mark and a color beside it. */
export function state(word) {
  const node = el("span", { class: "state" });
  showState(node, word);
  return node;
}

export function showState(node, word, shown = word) {
  node.dataset.state = word;
  text(node, shown);
}

/**
 * A table whose rows live as long as what they show.
 * A column: { label, num, act, wide, key, text(row) } or { label, make(td, row), show(td, row) }.
 */
export class Table {
  constructor(caption, columns) {
    this.columns = columns;
    this.rows = new Map();
    const heads = columns.map((column) =>
      el("th", { scope: "col", role: "columnheader", class: column.num ? "num" : null },
        column.act ? el("span", { class: "hidden" }, column.label) : column.label));
    this.body = el("tbody", { role: "rowgroup" });
    // The roles are those a table has anyway; a phone's layout would take them away.
    this.node = el("table", { class: "cards", role: "table" },
      el("caption", { class: "hidden" }, caption),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...heads)), this.body);
    this.empty = el("p", { class: "empty", hidden: true });
    this.box = el("div", { class: "scroll" }, this.node, this.empty);
  }

  /** Shows `rows` in their order; `keyOf` tells which is which, `decorate` may mark a row. */
  update(rows, keyOf, { empty = "Nothing.", decorate = () => {} } = {}) {
    const fresh = this.rows.size > 0;
    const seen = new Set();
    let before = null;
    for (const row of rows) {
      const key = String(keyOf(row));
      seen.add(key);
      let line = this.rows.get(key);
      if (!line) {
        line = this.make(row);
        if (fresh) line.classList.add("new");
        this.rows.set(key, line);
      }
      this.columns.forEach((column, i) => {
        const cell = line.cells[i];
        if (column.show) column.show(cell, row);
        else if (column.text) text(cell, column.text(row));
      });
      decorate(line, row);
      const place = before ? before.nextSibling : this.body.firstChild;
      if (place !== line) this.body.insertBefore(line, place);
      before = line;
    }
    for (const [key, line] of this.rows) {
      if (!seen.has(key)) {
        line.remove();
        this.rows.delete(key);
      }
    }
    this.node.hidden = rows.length === 0;
    this.empty.hidden = rows.length > 0;
    text(this.empty, empty);
  }

  make(row) {
    return el("tr", { role: "row" }, ...this.columns.map((column) => {
      const kind = [column.num && "num", column.act && "act", column.wide && "wide", column.key && "key"];
      const cell = el("td", { role: "cell", "data-label": column.label, class: kind.filter(Boolean).join(" ") || null });
      column.make?.(cell, row);
      return cell;
    }));
  }
}

/** Says who gave no answer, or that nobody knows the question. */
export function gaps(answer, what) {
  if (!answer.available) return `${what}: not available: the agents run an older version.`;
  if (!answer.silent?.length) return "";
  return `No data from ${answer.silent.map((one) => `${one.agent} (${one.why})`).join(", ")}.`;
}
