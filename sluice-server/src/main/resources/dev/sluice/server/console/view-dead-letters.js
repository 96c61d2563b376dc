import { found, get, none, path, post } from "./api.js";
import { actions, figure, named } from "./columns.js";
import { ask, show, toast } from "./dialogs.js";
import { button, h, heading, name, page, text } from "./dom.js";
import { bytes, bytesOf, count, hex, plural, time } from "./format.js";
import { DEAD, gated, listQueues, mayQueue, mayRedrive } from "./permissions.js";
import { table } from "./table.js";
import { purgeQueue } from "./view-queues.js";

const PEEK = 100;

/** The most bytes of a payload that are shown. */
const MOST_BYTES = 65_536;

const REASONS = {
  TIME_TO_LIVE: "too old",
  MAX_ATTEMPTS: "too many attempts",
  SCRIPT: "decided by a hook",
};

async function redrive(queue) {
  let moved = 0;
  const done = await ask({
    id: "redrive",
    title: "Redrive dead letters of " + queue.slice(0, -DEAD.length) + "?",
    message:
      "They go back to the queue they came from, the oldest first, as new messages without attempts.",
    fields: [
      {
        name: "count",
        label: "How many",
        type: "number",
        value: 0,
        min: 0,
        hint: "0 for all that wait now",
      },
      { name: "run_hook", label: "Run on_enqueue again", type: "checkbox" },
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

/** Reads a message of which the list has no payload, and shows it. */
async function inspect(queue, { id }) {
  const { messages } = await get(
    path`/v1/queues/${queue}/browse?max_messages=1&max_payload_bytes=${MOST_BYTES}&from=${id}`,
  );
  if (messages[0]?.id === id) {
    showMessage(messages[0]);
  } else {
    toast("The message no longer exists.", "bad");
  }
}

function textOf({ payload, payload_size: size }) {
  if (payload === undefined) {
    return "The payload is not text.";
  }
  const more = size - new Blob([payload]).size;
  return payload + (more > 0 ? "\n… " + bytes(more) + " more" : "");
}

function showMessage(message) {
  const data = bytesOf(message);
  const isText = message.payload !== undefined;
  const size = message.payload_size;
  const content = h("pre", {
    class: "payload",
    tabindex: "0",
    "aria-label": "Payload",
    "data-testid": "payload",
  });
  const shown = (how) => {
    text(content, how === "text" ? textOf(message) : hex(data, size));
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
          ["Error", message.dead_letter.error || "none given"],
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
    empty: none("There are no dead letters"),
    sorted: { id: "depth", down: true },
    columns: [
      named("name", "Queue", (row) => row.name.slice(0, -DEAD.length), {
        href: (row) => "#/dead/" + encodeURIComponent(row.name),
      }),
      figure("depth", "Dead letters", (row) => row.depth),
      actions({
        label: "Redrive",
        action: "redrive",
        says: (row) => "Redrive dead letters of " + row.name,
        act: (row) => redrive(row.name),
        may: (row) => mayRedrive(row.name),
      }),
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
      const queues = await listQueues();
      list.set(queues.filter((each) => each.name.endsWith(DEAD) && each.depth > 0));
    },
  };
}

export function view(queue) {
  if (!queue) {
    return listView();
  }
  const isDead = queue.endsWith(DEAD);
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
      named("tenant", "Tenant", (row) => row.fairness_key, { wide: false }),
      {
        id: "reason",
        label: "Reason",
        low: true,
        value: (row) => REASONS[row.dead_letter?.reason] ?? row.dead_letter?.reason ?? "–",
      },
      figure("attempts", "Attempts", (row) => row.dead_letter?.attempts ?? 0, count, { low: true }),
      figure("size", "Size", (row) => row.payload_size, bytes, { low: true }),
      named("error", "Error", (row) => row.dead_letter?.error ?? "", { alone: true }),
      actions({
        label: "Inspect",
        action: "inspect",
        says: (row) => "Inspect message " + row.id,
        act: (row) => inspect(queue, row).catch((refused) => toast(refused.message, "bad")),
      }),
    ],
  });
  let peeked = 0;
  let depth = -1;
  const element = page(
    { "data-view": "dead-letters", "data-queue": queue },
    { href: "#/dead", label: "Dead letters", of: "dead letters" },
    heading(
      1,
      name(isDead ? queue.slice(0, -DEAD.length) : queue),
      gated(
        button("Redrive", "redrive", () => redrive(queue), { class: "primary" }),
        () => mayRedrive(queue),
      ),
      gated(
        button("Purge", "purge", () => purgeQueue(queue), { class: "danger" }),
        () => mayQueue("admin", queue),
      ),
    ),
    h("div", { class: "card" }, summary, list),
  );
  if (!isDead) {
    element.isMissing("A queue of dead letters ends in " + DEAD + ": " + queue);
  }
  return {
    element,
    title: "Dead letters",
    async tick(now) {
      const queues = await listQueues();
      if (!isDead) {
        return;
      }
      const own = queues.find((each) => each.name === queue);
      // To list them takes the server a while: only if their number changed, or now and then.
      if (own && own.depth === depth && now - peeked < 10_000) {
        return;
      }
      const listed = await found(element, () =>
        get(path`/v1/queues/${queue}/browse?max_messages=${PEEK}&max_payload_bytes=0`),
      );
      if (!listed) {
        return;
      }
      const { messages } = listed;
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
