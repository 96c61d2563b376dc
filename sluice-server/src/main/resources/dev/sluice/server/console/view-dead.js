import { get, path, post } from "./api.js";
import { ask, show, toast } from "./dialogs.js";
import { button, h, heading, name, text } from "./dom.js";
import { bytes, count, hex, payloadOf, plural, time } from "./format.js";
import { table } from "./table.js";
import { purgeQueue } from "./view-queues.js";

const DEAD = ".dlq";
const PEEK = 100;
const MOST_TEXT = 65_536;

const REASONS = {
  TIME_TO_LIVE: "too old",
  MAX_ATTEMPTS: "too many attempts",
  SCRIPT: "a script said so",
};

async function redrive(queue) {
  let moved = 0;
  const done = await ask({
    id: "redrive",
    title: "Redrive dead letters of " + queue.slice(0, -DEAD.length) + "?",
    message:
      "They go back to the queue they came from, the oldest first, as if new: their attempts are forgotten.",
    fields: [
      {
        name: "count",
        label: "How many",
        type: "number",
        value: 0,
        min: 0,
        hint: "0 for all that wait now",
      },
      { name: "run_script", label: "Let on_enqueue say anew where they go", type: "checkbox" },
    ],
    confirm: "Redrive",
    act: async (values) => {
      moved = (await post(path`/v1/queues/${queue}/redrive`, values)).redriven;
    },
  });
  if (done) {
    toast(plural(moved, "message") + " went back.");
  }
}

function beginning(payload) {
  const more = payload.length - MOST_TEXT;
  return more > 0 ? payload.slice(0, MOST_TEXT) + "\n… " + count(more) + " characters more" : payload;
}

function inspect(message) {
  const { data, size } = payloadOf(message);
  const isText = message.payload !== undefined;
  const content = h("pre", {
    class: "payload",
    tabindex: "0",
    "aria-label": "Payload",
    "data-testid": "payload",
  });
  const shown = (how) => {
    text(
      content,
      how === "text" ? (isText ? beginning(message.payload) : "This is no text.") : hex(data, size),
    );
    asText.setAttribute("aria-pressed", String(how === "text"));
    asHex.setAttribute("aria-pressed", String(how === "hex"));
  };
  const asText = button("Text", "as-text", () => shown("text"), { class: "small" });
  const asHex = button("Hex", "as-hex", () => shown("hex"), { class: "small" });
  const facts = [
    ["Id", message.id],
    ["Tenant", message.fairness_key],
    ["Enqueued", time(message.enqueued_at_ms)],
    ["Size", bytes(size)],
    ...(message.throttle_keys.length > 0
      ? [["Throttle keys", message.throttle_keys.join(", ")]]
      : []),
    ...(message.dead_letter
      ? [
          ["From", message.dead_letter.queue],
          ["Reason", REASONS[message.dead_letter.reason] ?? message.dead_letter.reason],
          ["Attempts", count(message.dead_letter.attempts)],
          ["Error", message.dead_letter.error || "none told"],
        ]
      : []),
    ...Object.entries(message.headers).map(([header, value]) => ["Header " + header, value]),
  ];
  show(
    "message",
    "Message",
    h(
      "dl",
      { class: "facts wide" },
      facts.map(([label, value]) =>
        h("div", {}, h("dt", {}, label), h("dd", {}, h("bdi", {}, String(value)))),
      ),
    ),
    h("div", { class: "actions" }, asText, asHex),
    content,
  );
  shown(isText ? "text" : "hex");
}

function listView() {
  const list = table({
    id: "dead-queues",
    label: "Queues of dead letters",
    key: (row) => row.name,
    empty: "There are no dead letters.",
    sorted: { id: "depth", down: true },
    columns: [
      {
        id: "name",
        label: "Queue",
        wide: true,
        sort: (row) => row.name,
        cell: (td, row) => {
          if (!td.firstChild) {
            td.append(
              h(
                "a",
                { href: "#/dead/" + encodeURIComponent(row.name), "data-action": "open" },
                name(row.name.slice(0, -DEAD.length)),
              ),
            );
          }
        },
      },
      {
        id: "depth",
        label: "Dead letters",
        numeric: true,
        sort: (row) => row.depth,
        value: (row) => count(row.depth),
      },
      {
        id: "actions",
        label: "Actions",
        hideLabel: true,
        cell: (td, row) => {
          if (!td.firstChild) {
            td.append(
              button("Redrive", "redrive", () => redrive(row.name), {
                class: "small",
                "aria-label": "Redrive dead letters of " + row.name,
              }),
            );
          }
        },
      },
    ],
  });
  return {
    element: h(
      "section",
      { "data-view": "dead" },
      h("h1", {}, "Dead letters"),
      h("div", { class: "card" }, list),
    ),
    title: "Dead letters",
    async tick() {
      const { queues } = await get("/v1/queues");
      list.set(queues.filter((each) => each.name.endsWith(DEAD) && each.depth > 0));
    },
  };
}

export function view(queue) {
  if (!queue) {
    return listView();
  }
  const summary = h("p", { class: "muted", role: "status", "data-testid": "dead-summary" });
  const list = table({
    id: "dead-letters",
    label: "Dead letters of " + queue,
    key: (row) => row.id,
    empty: "There are no dead letters.",
    rowHeader: 1,
    columns: [
      {
        id: "time",
        label: "Enqueued",
        low: true,
        sort: (row) => row.enqueued_at_ms,
        value: (row) => time(row.enqueued_at_ms),
      },
      {
        id: "tenant",
        label: "Tenant",
        sort: (row) => row.fairness_key,
        cell: (td, row) => td.firstChild ?? td.append(name(row.fairness_key)),
      },
      {
        id: "reason",
        label: "Reason",
        low: true,
        value: (row) => REASONS[row.dead_letter?.reason] ?? row.dead_letter?.reason ?? "–",
      },
      {
        id: "attempts",
        label: "Attempts",
        numeric: true,
        low: true,
        sort: (row) => row.dead_letter?.attempts ?? 0,
        value: (row) => count(row.dead_letter?.attempts ?? 0),
      },
      {
        id: "error",
        label: "Error",
        wide: true,
        sort: (row) => row.dead_letter?.error ?? "",
        cell: (td, row) => td.firstChild ?? td.append(name(row.dead_letter?.error || "–")),
      },
      {
        id: "actions",
        label: "Actions",
        hideLabel: true,
        cell: (td, row, current) => {
          if (!td.firstChild) {
            td.append(
              button("Inspect", "inspect", () => inspect(current()), {
                class: "small",
                "aria-label": "Inspect message " + row.id,
              }),
            );
          }
        },
      },
    ],
  });
  let peeked = 0;
  let depth = -1;
  const element = h(
    "section",
    { "data-view": "dead-letters", "data-queue": queue },
    h("p", { class: "crumbs" }, h("a", { href: "#/dead" }, "Dead letters")),
    heading(
      1,
      name(queue.endsWith(DEAD) ? queue.slice(0, -DEAD.length) : queue),
      button("Redrive", "redrive", () => redrive(queue), { class: "primary" }),
      button("Purge", "purge", () => purgeQueue(queue), { class: "danger" }),
    ),
    h("div", { class: "card" }, summary, list),
  );
  return {
    element,
    title: "Dead letters",
    async tick(now) {
      const { queues } = await get("/v1/queues");
      const own = queues.find((each) => each.name === queue);
      // Messages may be large: they are read again only if their number changed, or now and then.
      if (own && own.depth === depth && now - peeked < 10_000) {
        return;
      }
      const { messages } = await get(path`/v1/queues/${queue}/peek` + "?max_messages=" + PEEK);
      peeked = now;
      depth = own?.depth ?? -1;
      text(
        summary,
        own
          ? plural(own.depth, "message") +
              (own.depth > messages.length
                ? "; the oldest " + messages.length + " are shown"
                : "") +
              "."
          : "",
      );
      list.set(messages);
    },
  };
}
