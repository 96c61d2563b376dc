import { get, path, post, remove } from "./api.js";
import { ask, toast } from "./dialogs.js";
import { button, h, heading, name, text } from "./dom.js";
import { count, plural, rate } from "./format.js";
import { Rates } from "./history.js";
import { table } from "./table.js";

const DEAD = ".dlq";
const rates = new Rates();

/** Queues without those of dead letters, which become a figure of their queue. */
export function withDeadLetters(queues) {
  const dead = new Map(
    queues.filter((each) => each.name.endsWith(DEAD)).map((each) => [each.name, each.depth]),
  );
  return queues
    .filter(
      (each) =>
        !each.name.endsWith(DEAD) || !queues.some((other) => other.name + DEAD === each.name),
    )
    .map((each) => ({ ...each, dead: dead.get(each.name + DEAD) ?? 0 }));
}

export function takeRates(queues, now) {
  rates.take(
    queues.flatMap((each) => [
      [each.name + "\nin", each.totals.enqueued],
      [each.name + "\nout", each.totals.delivered],
      [each.name + "\nack", each.totals.acked],
    ]),
    now,
  );
}

export function rateOf(queue, which) {
  return rates.of(queue + "\n" + which);
}

/** Waits for a consumer, a throttle key or a slot. */
export function waiting(queue) {
  return Math.max(0, queue.depth - queue.in_flight - queue.delayed);
}

/** Something waits, and nobody takes any: neither a stream nor calls to receive. */
export function isUnserved(queue) {
  return (
    waiting(queue) > 0 &&
    queue.consumers === 0 &&
    queue.in_flight === 0 &&
    rateOf(queue.name, "out") === 0
  );
}

export async function createQueue() {
  let made = "";
  const done = await ask({
    id: "create-queue",
    title: "Create a queue",
    message: "A queue for its dead letters comes with it.",
    fields: [
      { name: "name", label: "Name", required: true, hint: "Letters, digits and . _ - : /" },
      { name: "lease_ms", label: "Lease (ms)", type: "number", value: 60000, min: 1 },
      {
        name: "max_attempts",
        label: "Attempts before it is a dead letter",
        type: "number",
        value: 5,
        min: 0,
        hint: "0 for any number",
      },
      {
        name: "max_in_flight_per_key",
        label: "In flight for each tenant",
        type: "number",
        value: 0,
        min: 0,
        hint: "0 for any number",
      },
      { name: "strict_order", label: "Keep the order of each tenant's messages", type: "checkbox" },
    ],
    confirm: "Create",
    act: async ({ name: wanted, ...config }) => {
      await post("/v1/queues", { name: wanted, config });
      made = wanted;
    },
  });
  if (done) {
    toast("Queue " + made + " is there.");
  }
}

export async function purgeQueue(queue) {
  let purged = 0;
  const done = await ask({
    id: "purge-queue",
    title: "Purge " + queue + "?",
    message: "Every message that no consumer has is deleted. This cannot be undone.",
    confirm: "Purge",
    danger: true,
    act: async () => {
      purged = (await post(path`/v1/queues/${queue}/purge`)).purged;
    },
  });
  if (done) {
    toast(plural(purged, "message") + " deleted from " + queue + ".");
  }
}

export async function deleteQueue(queue) {
  const done = await ask({
    id: "delete-queue",
    title: "Delete " + queue + "?",
    message:
      "The queue, its dead letters and everything in both are deleted. This cannot be undone.",
    confirm: "Delete",
    danger: true,
    act: () => remove(path`/v1/queues/${queue}`),
  });
  if (done) {
    toast("Queue " + queue + " is deleted.");
    location.hash = "#/queues";
  }
  return done;
}

export function view() {
  const list = table({
    id: "queues",
    label: "Queues",
    key: (row) => row.name,
    empty: "There are no queues yet. Create one, or enqueue by the API.",
    sorted: { id: "waiting", down: true },
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
                { href: "#/queue/" + encodeURIComponent(row.name), "data-action": "open" },
                name(row.name),
              ),
            );
          }
        },
      },
      {
        id: "waiting",
        label: "Waiting",
        numeric: true,
        sort: waiting,
        value: (row) => count(waiting(row)),
      },
      {
        id: "flight",
        label: "In flight",
        numeric: true,
        sort: (row) => row.in_flight,
        value: (row) => count(row.in_flight),
      },
      {
        id: "delayed",
        label: "Delayed",
        numeric: true,
        low: true,
        sort: (row) => row.delayed,
        value: (row) => count(row.delayed),
      },
      {
        id: "in",
        label: "In",
        numeric: true,
        low: true,
        sort: (row) => rateOf(row.name, "in") ?? 0,
        value: (row) => rate(rateOf(row.name, "in")),
      },
      {
        id: "out",
        label: "Out",
        numeric: true,
        sort: (row) => rateOf(row.name, "out") ?? 0,
        value: (row) => rate(rateOf(row.name, "out")),
      },
      {
        id: "consumers",
        label: "Consumers",
        numeric: true,
        low: true,
        sort: (row) => row.consumers,
        value: (row) => count(row.consumers),
      },
      {
        id: "dead",
        label: "Dead",
        numeric: true,
        sort: (row) => row.dead,
        cell: (td, row) => {
          if (!td.firstChild) {
            td.append(h("a", { href: "#/dead/" + encodeURIComponent(row.name + DEAD) }));
          }
          text(td.firstChild, count(row.dead));
          td.firstChild.setAttribute(
            "aria-label",
            plural(row.dead, "dead letter") + " of " + row.name,
          );
          td.dataset.tone = row.dead > 0 ? "warn" : "";
        },
      },
      {
        id: "actions",
        label: "Actions",
        hideLabel: true,
        low: true,
        cell: (td, row) => {
          if (!td.firstChild) {
            td.append(
              button("Purge", "purge", () => purgeQueue(row.name), {
                class: "small",
                "aria-label": "Purge " + row.name,
              }),
              button("Delete", "delete", () => deleteQueue(row.name), {
                class: "small",
                "aria-label": "Delete " + row.name,
              }),
            );
          }
        },
      },
    ],
  });
  const element = h(
    "section",
    { "data-view": "queues" },
    heading(
      1,
      "Queues",
      button("Create a queue", "create-queue", createQueue, { class: "primary" }),
    ),
    h("div", { class: "card" }, list),
  );
  return {
    element,
    title: "Queues",
    async tick(now) {
      const { queues } = await get("/v1/queues");
      takeRates(queues, now);
      list.set(withDeadLetters(queues));
    },
  };
}
