import { get, none, patch, path, post, remove } from "./api.js";
import { actions, figure, named } from "./columns.js";
import { ask, toast } from "./dialogs.js";
import { attr, button, h, heading, text } from "./dom.js";
import { count, plural, rate } from "./format.js";
import { Rates } from "./history.js";
import { DEAD, gated, listQueues, mayQueue, maySome } from "./permissions.js";
import { table } from "./table.js";

const rates = new Rates();

/** Queues without those of dead letters, which become a figure of their queue; null if not seen. */
export function withDeadLetters(queues) {
  const dead = new Map(
    queues.filter((each) => each.name.endsWith(DEAD)).map((each) => [each.name, each.depth]),
  );
  return queues
    .filter(
      (each) =>
        !each.name.endsWith(DEAD) || !queues.some((other) => other.name + DEAD === each.name),
    )
    .map((each) => ({ ...each, dead: dead.get(each.name + DEAD) ?? null }));
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

/** The columns of the rates in and out. */
export const flows = () => [
  figure("in", "In", (row) => rateOf(row.name, "in"), rate, { low: true }),
  figure("out", "Out", (row) => rateOf(row.name, "out"), rate),
];

/** A column with the name of a queue, which leads to it. */
export const queueName = () =>
  named("name", "Queue", (row) => row.name, {
    href: (row) => "#/queue/" + encodeURIComponent(row.name),
  });

/** Waits for a consumer, a throttle key or a slot. */
export function waiting(queue) {
  return Math.max(0, queue.depth - queue.in_flight - queue.delayed);
}

/** Messages wait, and nothing receives them: neither a stream nor calls to receive. */
export function isUnserved(queue) {
  return (
    waiting(queue) > 0 &&
    queue.consumers === 0 &&
    queue.in_flight === 0 &&
    rateOf(queue.name, "out") === 0
  );
}

/** Returns the answer of `call`, or null after showing why it failed. */
async function orToast(call) {
  try {
    return await call();
  } catch (refused) {
    toast(refused.message, "bad");
    return null;
  }
}

/** Returns the default settings of a queue, from the server's API description. */
async function defaults() {
  const { components } = await get("/openapi.json");
  return Object.fromEntries(
    Object.entries(components.schemas.QueueConfig.properties).map(([field, about]) => [
      field,
      about.default,
    ]),
  );
}

/** Returns the fields of a dialog for a queue's settings, filled in with `config`. */
function settingFields(config) {
  const number = (field, label, hint) => ({
    name: field,
    label,
    type: "number",
    value: config[field],
    min: 0,
    hint,
  });
  return [
    number("lease_timeout_ms", "Lease (ms)"),
    number("max_attempts", "Attempts before it is a dead letter", "0 for no limit"),
    number(
      "retry_delay_ms",
      "Delay after the first failure (ms)",
      "Doubles with each further one; 0 for none. The hook on_failure overrides it.",
    ),
    number("max_retry_delay_ms", "Longest delay (ms)"),
    number("max_in_flight_per_key", "In flight for each tenant", "0 for no limit"),
    {
      name: "strict_order",
      label: "Keep the order of each tenant's messages",
      type: "checkbox",
      value: config.strict_order,
    },
    {
      name: "strict_throttle_keys",
      label: "Refuse throttle keys without a limit",
      type: "checkbox",
      value: config.strict_throttle_keys,
    },
  ];
}

export async function createQueue() {
  let made = "";
  const config = await orToast(defaults);
  if (!config) {
    return;
  }
  const done = await ask({
    id: "create-queue",
    title: "Create a queue",
    message: "Its dead-letter queue is created as well.",
    fields: [
      {
        name: "name",
        label: "Name",
        required: true,
        hint: "Letters, digits and . _ - : /, not . or .. alone",
      },
      ...settingFields(config),
    ],
    confirm: "Create",
    act: async ({ name: wanted, ...chosen }) => {
      await post("/v1/queues", { name: wanted, config: chosen });
      made = wanted;
    },
  });
  if (done) {
    toast("Queue " + made + " is created.");
  }
}

/** Changes the edited settings, unless the queue has been changed since they were read. */
export async function changeQueue(queue) {
  const found = await orToast(() => get(path`/v1/queues/${queue}`));
  if (!found) {
    return;
  }
  const { config, revision } = found;
  const done = await ask({
    id: "change-queue",
    title: "Settings of " + queue,
    message: "A field that is left empty gets its default.",
    fields: settingFields(config),
    confirm: "Save",
    act: (values) => {
      const changed = Object.entries(values).filter(([field, value]) => value !== config[field]);
      return patch(path`/v1/queues/${queue}`, Object.fromEntries(changed), revision);
    },
  });
  if (done) {
    toast("The settings of " + queue + " are saved.");
  }
}

export async function purgeQueue(queue) {
  let purged = 0;
  const done = await ask({
    id: "purge-queue",
    title: "Purge " + queue + "?",
    message: "All messages without a lease are deleted. This cannot be undone.",
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
    empty: none("There are no queues yet"),
    sorted: { id: "waiting", down: true },
    columns: [
      queueName(),
      figure("waiting", "Waiting", waiting),
      figure("flight", "In flight", (row) => row.in_flight, count, { low: true }),
      figure("delayed", "Delayed", (row) => row.delayed, count, { low: true }),
      ...flows(),
      figure("consumers", "Consumers", (row) => row.consumers, count, { low: true }),
      {
        id: "dead",
        label: "Dead",
        numeric: true,
        sort: (row) => row.dead ?? -1,
        cell: (td, row) => {
          if (!td.firstChild) {
            td.append(h("a"));
          }
          const known = row.dead !== null;
          const link = td.firstChild;
          text(link, known ? count(row.dead) : "–");
          attr(link, "href", known ? "#/dead/" + encodeURIComponent(row.name + DEAD) : null);
          const words = known ? plural(row.dead, "dead letter") + " of " + row.name : null;
          attr(link, "aria-label", words);
          td.dataset.tone = row.dead > 0 ? "warn" : "";
        },
      },
      actions(
        {
          label: "Purge",
          action: "purge",
          says: (row) => "Purge " + row.name,
          act: (row) => purgeQueue(row.name),
          may: (row) => mayQueue("admin", row.name),
        },
        {
          label: "Delete",
          action: "delete",
          says: (row) => "Delete " + row.name,
          act: (row) => deleteQueue(row.name),
          may: (row) => mayQueue("admin", row.name),
        },
      ),
    ],
  });
  const element = h(
    "section",
    { "data-view": "queues" },
    heading(
      1,
      "Queues",
      gated(button("Create a queue", "create-queue", createQueue, { class: "primary" }), () =>
        maySome("admin"),
      ),
    ),
    h("div", { class: "card" }, list),
  );
  return {
    element,
    title: "Queues",
    async tick(now) {
      const queues = await listQueues();
      takeRates(queues, now);
      list.set(withDeadLetters(queues));
    },
  };
}
