import { attr, button, h, name, text } from "./dom.js";
import { count } from "./format.js";

/** A figure of each row, `of(row)`, as `write` puts it. */
export function figure(id, label, of, write = count, more = {}) {
  return { id, label, numeric: true, sort: of, value: (row) => write(of(row)), ...more };
}

/** The name of a row, `of(row)`; with `href(row)` it is a link. */
export function named(id, label, of, { href = null, ...more } = {}) {
  return {
    id,
    label,
    wide: true,
    sort: of,
    cell: (td, row) => {
      if (!td.firstChild) {
        const shown = of(row) ? name(of(row)) : "–";
        td.append(href ? h("a", { href: href(row), "data-action": "open" }, shown) : shown);
      }
    },
    ...more,
  };
}

/** The state of a row, `of(row)`: words and a tone. */
export function standing(id, label, of, more = {}) {
  return {
    id,
    label,
    sort: (row) => of(row)[0],
    cell: (td, row) => {
      if (!td.firstChild) {
        td.append(h("span", { class: "pill" }));
      }
      const [words, tone] = of(row);
      text(td.firstChild, words);
      td.firstChild.dataset.tone = tone;
      attr(td.firstChild, "title", words);
    },
    ...more,
  };
}

/**
 * Buttons for each row: {label, action, says(row), act(row), may(row)}. `says` names the row for screen
 * readers. A button acts on the present row, and is shown if the key may do so.
 */
export function actions(...buttons) {
  return {
    id: "actions",
    label: "Actions",
    hideLabel: true,
    cell: (td, row, current) => {
      if (!td.firstChild) {
        td.append(
          ...buttons.map((each) =>
            button(each.label, each.action, () => each.act(current()), {
              class: "small",
              "aria-label": each.says(row),
            }),
          ),
        );
      }
      buttons.forEach(({ may = () => true }, i) => {
        td.children[i].hidden = !may(row);
      });
    },
  };
}
