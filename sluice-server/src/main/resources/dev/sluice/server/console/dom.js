// Elements are created by hand. Values of the server are inserted as text, never as markup.

/** Makes an element: properties, `data-…`, `aria-…` and listeners (`onclick`), then children. */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) {
      continue;
    }
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (name === "class") {
      element.className = value;
    } else {
      element.setAttribute(name, value === true ? "" : shown(name, value));
    }
  }
  element.append(
    ...children
      .flat()
      .filter((each) => each !== null && each !== undefined)
      .map((each) => (typeof each === "string" ? visible(each) : each)),
  );
  return element;
}

/** Sets the text of an element, and touches nothing if it is the same. */
export function text(element, value) {
  const wanted = visible(value);
  if (element.textContent !== wanted) {
    element.textContent = wanted;
  }
}

/** Sets an attribute, or takes it away if there is no value. */
export function attr(element, name, value) {
  if (value === null || value === undefined || value === false) {
    element.removeAttribute(name);
  } else if (element.getAttribute(name) !== shown(name, value)) {
    element.setAttribute(name, shown(name, value));
  }
}

/** Returns the value of an attribute; of one that users read or hear, its printable text. */
function shown(name, value) {
  return name === "title" || name === "aria-label" ? visible(value) : String(value);
}

/** A name from another user, kept apart from the text around it. */
export function name(value, props = {}) {
  return h("bdi", { class: "name", title: value, ...props }, String(value));
}

/** Characters that hide, or turn text around, are shown and not obeyed; lines stay lines. */
export function visible(value) {
  return String(value).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (each) =>
    each === "\n" || each === "\t"
      ? each
      : "\\u" + each.codePointAt(0).toString(16).padStart(4, "0"),
  );
}

export function button(label, action, onclick, props = {}) {
  return h("button", { type: "button", "data-action": action, onclick, ...props }, label);
}

/** A bar from 0 to 1, with an optional mark, and a text for screen readers. */
export function bar(label) {
  const fill = h("span", { class: "fill" });
  const mark = h("span", { class: "mark-at", hidden: true });
  const element = h(
    "span",
    {
      class: "bar-meter",
      role: "meter",
      "aria-label": label,
      "aria-valuemin": "0",
      "aria-valuemax": "100",
      "aria-valuenow": "0",
    },
    fill,
    mark,
  );
  element.set = (part, words, { at = null, tone = "" } = {}) => {
    const percent = Math.round(Math.max(0, Math.min(1, part)) * 1000) / 10;
    fill.style.width = percent + "%";
    attr(element, "aria-valuenow", Math.round(percent));
    attr(element, "aria-valuetext", words);
    attr(element, "data-tone", tone || null);
    mark.hidden = at === null;
    if (at !== null) {
      mark.style.left = Math.max(0, Math.min(1, at)) * 100 + "%";
    }
  };
  return element;
}

/** A figure with a caption. */
export function tile(label, testid) {
  const value = h("dd", { "data-testid": testid }, "–");
  const note = h("dd", { class: "note" });
  const element = h("div", { class: "tile" }, h("dt", {}, label), value, note);
  element.set = (figure, words = "", tone = "") => {
    text(value, figure);
    text(note, words);
    attr(element, "data-tone", tone || null);
  };
  return element;
}

/**
 * A page about one thing. If there is no such thing, `isMissing(words)` shows these and the way back
 * in place of everything else; `isMissing(null)` shows it again.
 */
export function page(props, crumb, ...content) {
  const words = h("p", {});
  const missing = h(
    "div",
    { class: "card missing", role: "status", "data-testid": "missing", hidden: true },
    words,
    h("a", { href: crumb.href, "data-action": "back" }, "Back to all " + crumb.of),
  );
  const element = h(
    "section",
    props,
    h("p", { class: "crumbs" }, h("a", { href: crumb.href }, crumb.label)),
    ...content,
    missing,
  );
  element.isMissing = (why) => {
    missing.hidden = why === null;
    attr(element, "data-missing", why === null ? null : "");
    text(words, why ?? "");
  };
  return element;
}

/** A heading with buttons beside it. */
export function heading(level, title, ...actions) {
  const words = h("h" + level, {}, title);
  return h("div", { class: "heading" }, words, h("div", { class: "actions" }, ...actions));
}

/** Replaces children one by one, so that those that stay keep focus. */
export function children(parent, wanted) {
  let at = parent.firstChild;
  for (const each of wanted) {
    if (at === each) {
      at = at.nextSibling;
    } else {
      parent.insertBefore(each, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}
