import { attr, children, h, text } from "./dom.js";

/** The assumed height of a row until one has been measured. */
const ROW = 41;
const MORE = 12;
const ALL = 150;

/**
 * A table of which only the rows that can be seen are in the page, however many there are.
 *
 * Columns are {id, label, value(row), cell(td, row), sort, numeric, low, alone}: `value` is shown as text
 * and sorted by, `cell` fills the cell instead, once made it is called again with every row.
 *
 * On a narrow screen a row is a card: what it is called and its buttons, then the other cells with
 * their labels; `low` columns are left out, `alone` ones have a line to themselves.
 */
export function table({ id, label, columns, key, empty, sorted = null, rowHeader = 0 }) {
  let rows = [];
  let order = sorted;
  const made = new Map();
  const heads = columns.map((column) => head(column, sortBy));
  const body = h("tbody", { role: "rowgroup" });
  const top = spacer(columns.length);
  const bottom = spacer(columns.length);
  const caption = h("caption", { class: "hidden" }, label);
  const element = h(
    "table",
    { role: "table", "data-table": id },
    caption,
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads)),
    body,
  );
  const nothing = h("p", { class: "empty", "data-testid": id + "-empty" }, empty);
  const scroll = h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    element,
  );
  const root = h("div", { class: "table", "data-testid": id }, scroll, nothing);
  scroll.addEventListener("scroll", () => requestAnimationFrame(paint), { passive: true });

  function sortBy(column) {
    order =
      order?.id === column.id
        ? { id: column.id, down: !order.down }
        : { id: column.id, down: Boolean(column.numeric) };
    sort();
    paint();
  }

  function sort() {
    const column = order && columns.find((each) => each.id === order.id);
    columns.forEach((each, i) =>
      attr(
        heads[i],
        "aria-sort",
        each === column ? (order.down ? "descending" : "ascending") : null,
      ),
    );
    if (column) {
      const of = column.sort ?? column.value;
      const sign = order.down ? -1 : 1;
      rows = rows
        .map((row) => [of(row), row])
        .sort(([a], [b]) => sign * (a < b ? -1 : a > b ? 1 : 0))
        .map(([, row]) => row);
    }
  }

  /** Rows are as high as each other, but not on every screen the same. */
  function rowHeight() {
    return body.querySelector("[data-row]")?.offsetHeight || ROW;
  }

  function paint() {
    const few = rows.length <= ALL;
    const high = few ? ROW : rowHeight();
    const height = scroll.clientHeight || 600;
    const from = few ? 0 : Math.max(0, Math.floor(scroll.scrollTop / high) - MORE);
    const to = few
      ? rows.length
      : Math.min(rows.length, from + Math.ceil(height / high) + 2 * MORE);
    const wanted = [];
    const stay = new Set();
    if (from > 0) {
      top.size(from * high);
      wanted.push(top);
    }
    for (let i = from; i < to; i++) {
      const name = key(rows[i]);
      stay.add(name);
      wanted.push(fill(name, rows[i], i));
    }
    if (to < rows.length) {
      bottom.size((rows.length - to) * high);
      wanted.push(bottom);
    }
    for (const [name, tr] of made) {
      if (!stay.has(name)) {
        tr.remove();
        made.delete(name);
      }
    }
    children(body, wanted);
    attr(element, "aria-rowcount", few ? null : rows.length + 1);
    attr(scroll, "data-many", few ? null : "");
    scroll.hidden = rows.length === 0;
    nothing.hidden = rows.length !== 0;
  }

  function fill(name, row, index) {
    let tr = made.get(name);
    if (!tr) {
      tr = h("tr", { role: "row", "data-row": name });
      tr.append(...columns.map((column, i) => cellOf(column, i === rowHeader)));
      made.set(name, tr);
    }
    tr.current = row;
    columns.forEach((column, i) => {
      const cell = tr.children[i];
      if (column.cell) {
        column.cell(cell, row, () => tr.current);
      } else {
        text(cell, column.value(row));
      }
    });
    attr(tr, "aria-rowindex", rows.length <= ALL ? null : index + 2);
    return tr;
  }

  root.set = (next) => {
    rows = next;
    sort();
    paint();
  };
  root.rows = () => rows;
  return root;
}

/** Sets roles, because browsers drop them from rows that CSS does not display as rows. */
function cellOf(column, isHeader) {
  return h(isHeader ? "th" : "td", {
    role: isHeader ? "rowheader" : "cell",
    scope: isHeader ? "row" : null,
    class: classOf(column),
    "data-cell": column.id,
    "data-label": column.label,
  });
}

function classOf(column) {
  return [
    column.numeric ? "number" : "",
    column.low ? "low" : "",
    column.wide ? "wide" : "",
    column.alone ? "alone" : "",
  ]
    .filter(Boolean)
    .join(" ");
}

function head(column, sortBy) {
  const sorts = Boolean(column.sort ?? column.value);
  const label = sorts
    ? h(
        "button",
        { type: "button", class: "sort", "data-sort": column.id, onclick: () => sortBy(column) },
        column.label,
      )
    : column.hideLabel
      ? h("span", { class: "hidden" }, column.label)
      : column.label;
  return h("th", { role: "columnheader", scope: "col", class: classOf(column) }, label);
}

function spacer(columns) {
  const cell = h("td", { colspan: columns });
  const tr = h("tr", { class: "spacer", "aria-hidden": "true" }, cell);
  tr.size = (height) => {
    cell.style.height = height + "px";
  };
  return tr;
}
