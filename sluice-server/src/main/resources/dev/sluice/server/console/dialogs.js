import { button, h, text } from "./dom.js";

const toasts = () => document.getElementById("toasts");

/** Shows the outcome of an action for a while. */
export function toast(words, tone = "good") {
  const close = button("Dismiss", "dismiss", () => note.remove(), { class: "quiet" });
  const note = h("div", { class: "toast", "data-tone": tone }, h("span", {}, words), close);
  toasts().append(note);
  while (toasts().children.length > 3) {
    toasts().firstChild.remove();
  }
  setTimeout(() => note.remove(), 8_000);
}

function dialog(id, title, body, buttons) {
  const heading = h("h2", { id: id + "-title" }, title);
  const error = h("p", {
    class: "error",
    role: "alert",
    "data-testid": "dialog-error",
    hidden: true,
  });
  const form = h(
    "form",
    { method: "dialog" },
    heading,
    body,
    error,
    h("div", { class: "buttons" }, buttons),
  );
  const element = h("dialog", { "data-dialog": id, "aria-labelledby": id + "-title" }, form);
  element.fail = (words) => {
    error.hidden = false;
    text(error, words);
  };
  element.form = form;
  document.body.append(element);
  element.addEventListener("close", () => element.remove());
  return element;
}

/**
 * Asks for values, runs the action and reports the result. A refusal is shown in the dialog, which
 * stays open. `fields` are {name, label, type, value, hint, options}; their values go to `act`.
 */
export function ask({
  id,
  title,
  message,
  fields = [],
  confirm,
  danger = false,
  act,
  cancelable = true,
  leave = "Cancel",
}) {
  return new Promise((resolve) => {
    const inputs = new Map();
    const rows = fields.map((field) => row(id, field, inputs));
    const go = h(
      "button",
      { type: "submit", class: danger ? "danger" : "primary", "data-action": "confirm" },
      confirm,
    );
    const cancel = cancelable ? button(leave, "cancel", () => element.close()) : null;
    const body = h("div", { class: "dialog-body" }, message ? h("p", {}, message) : null, rows);
    const element = dialog(id, title, body, [cancel, go].filter(Boolean));
    let done = null;
    element.form.addEventListener("submit", async (event) => {
      event.preventDefault();
      go.disabled = true;
      try {
        done = (await act(valuesOf(fields, inputs))) ?? true;
        element.close();
      } catch (refused) {
        element.fail(refused.message);
      } finally {
        go.disabled = false;
      }
    });
    element.addEventListener("cancel", (event) => {
      if (!cancelable) {
        event.preventDefault();
      }
    });
    element.addEventListener("close", () => resolve(done));
    element.showModal();
    const first = inputs.values().next().value;
    (first ?? (danger ? (cancel ?? go) : go)).focus();
  });
}

function row(id, field, inputs) {
  const inputId = id + "-" + field.name;
  const hintId = inputId + "-hint";
  const shared = { id: inputId, name: field.name, "aria-describedby": field.hint ? hintId : null };
  const input = field.options
    ? h(
        "select",
        shared,
        field.options.map((each) => h("option", { value: each }, each)),
      )
    : h("input", {
        ...shared,
        type: field.type ?? "text",
        min: field.min,
        step: field.step,
        required: field.required,
        autocomplete: "off",
        spellcheck: "false",
      });
  if (field.type === "checkbox") {
    input.checked = Boolean(field.value);
  } else if (field.value !== undefined) {
    input.value = field.value;
  }
  inputs.set(field.name, input);
  const hint = field.hint ? h("small", { id: hintId }, field.hint) : null;
  return h("div", { class: "field" }, h("label", { for: inputId }, field.label), input, hint);
}

function valuesOf(fields, inputs) {
  const values = {};
  for (const field of fields) {
    const input = inputs.get(field.name);
    if (field.type === "checkbox") {
      values[field.name] = input.checked;
    } else if (field.type === "number") {
      values[field.name] = input.value === "" ? null : Number(input.value);
    } else {
      values[field.name] = input.value;
    }
  }
  return values;
}

/** Shows something to read; `body` is made of elements. */
export function show(id, title, ...body) {
  const close = button("Close", "close", () => element.close(), { class: "primary" });
  const element = dialog(id, title, h("div", { class: "dialog-body" }, ...body), [close]);
  element.classList.add("wide");
  element.showModal();
  close.focus({ preventScroll: true });
  return element;
}
