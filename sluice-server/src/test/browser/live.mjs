// What there is to see: queues of tenants that keep moving, throttle keys with a crowd before them,
// limits, models with a line, dead letters. One step each 100 ms for as long as tests run.
import { api } from "./harness.mjs";

const open = api();

const STEP_MS = 100;
const WAIT_MS = 500;

/** Tenants with a backlog never have less. */
const BACKLOG = 200;
const CALLS = 90;

/** Tickets of the model `crowded`: more than a page has. */
export const CROWD = 130;

/** Tenants of `orders` with their weights; `quiet` never has a backlog. */
export const TENANTS = { noisy: 1, silver: 2, gold: 4, quiet: 1 };

const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const message = (tenant, weight, more = {}) => ({
  payload: "order of " + tenant,
  fairness_key: tenant,
  weight,
  ...more,
});

export function enqueue(queue, messages, server = open) {
  return server.post(`/v1/queues/${encodeURIComponent(queue)}/messages`, { messages });
}

export function createQueue(name, config = {}, server = open) {
  return server.post("/v1/queues", { name, config: { durability: "OS", ...config } });
}

/** Takes so many messages that are there, and settles them. */
export async function consume(queue, most, action, server = open, waitMs = 0) {
  const path = `/v1/queues/${encodeURIComponent(queue)}`;
  const { deliveries } = await server.post(path + "/receive", { max_messages: most, wait_ms: waitMs });
  const settlements = deliveries.map(({ id, lease_token }) => ({ id, lease_token, ...action }));
  if (settlements.length > 0) {
    await server.post(path + "/settle", { settlements });
  }
  return settlements.length;
}

/** A queue with dead letters of one reason each. */
export async function deadLetters(queue, messages, error, server = open) {
  await createQueue(queue, { max_attempts: 1 }, server);
  await enqueue(queue, messages, server);
  let left = messages.length;
  while (left > 0) {
    left -= await consume(queue, left, { action: "nack", error }, server, 1_000);
  }
}

/** Puts a request on the waiting list of a model, and returns its ticket. */
export async function ticket(model, tokens, more = {}) {
  const answer = await open.post("/v1/governor/requests", { model, tokens, priority: "P1_user", ...more });
  return answer.ticket;
}

async function seed() {
  await createQueue("orders");
  await createQueue("webhooks");
  await createQueue("idle");
  await enqueue(
    "orders",
    times(3 * BACKLOG, (i) => message(["noisy", "silver", "gold"][i % 3], [1, 2, 4][i % 3])),
  );
  await open.put("/v1/throttles/provider:acme", { rate_per_second: 5, burst: 5 });
  await open.put("/v1/throttles/provider:asleep", { rate_per_second: 0.001, burst: 1 });
  await enqueue(
    "webhooks",
    times(CALLS, (i) => message("shop-" + (i % 3), 1, { throttle_keys: { "provider:acme": 1 } })),
  );
  await enqueue(
    "webhooks",
    times(9, (i) => message("shop-" + (7 + (i % 3)), 1, { throttle_keys: { "provider:asleep": 1 } })),
  );
  await open.put("/v1/limits/search:*", { rate_per_second: 10, burst: 20 });
  await open.put("/v1/limits/login:alice", { rate_per_second: 1, burst: 3 });
  await deadLetters(
    "emails",
    times(12, (i) =>
      message("mail-" + (i % 4), 1, { payload: JSON.stringify({ to: i }), headers: { trace: "t" + i } }),
    ),
    "550 mailbox is full",
  );
  for (const model of ["slow", "short", "crowded"]) {
    await open.post("/v1/governor/requests", { model, tokens: 1_000 });
  }
  for (let i = 0; i < CROWD; i++) {
    await ticket("crowded", 10, { tenant: "crowd" });
  }
  for (const [tenant, priority] of [
    ["acme", "P0_clinical"],
    ["acme", "P1_user"],
    ["globex", "P1_user"],
    ["initech", "P2_batch"],
  ]) {
    await ticket("slow", 100, { tenant, priority });
  }
}

const granted = [];

async function statsOf(queue) {
  return (await open.get("/v1/queues/" + queue)).stats;
}

async function step(count) {
  const waiting = new Map((await statsOf("orders")).fairness_keys.map((each) => [each.fairness_key, each.pending]));
  const backlog = ["noisy", "silver", "gold"]
    .filter((tenant) => (waiting.get(tenant) ?? 0) < BACKLOG)
    .flatMap((tenant) => times(BACKLOG / 4, () => message(tenant, TENANTS[tenant])));
  await enqueue("orders", [...backlog, message("quiet", 1)]);
  if ((await statsOf("webhooks")).depth < CALLS) {
    await enqueue(
      "webhooks",
      times(9, (i) => message("shop-" + (i % 3), 1, { throttle_keys: { "provider:acme": 1 } })),
    );
  }
  await open.post("/v1/decide", { costs: { "search:u1": 1 } });
  await open.post("/v1/decide", { costs: { "login:alice": 1 } });
  if (count % 2 === 0) {
    const priority = ["P0_clinical", "P1_user", "P2_batch"][count % 3];
    const answer = await open.post("/v1/governor/requests", {
      model: "busy",
      tokens: 250,
      priority,
      tenant: "t" + (count % 5),
    });
    if (answer.granted) {
      granted.push(answer.reservation);
    }
  }
  while (granted.length > 4) {
    await open.post(`/v1/governor/reservations/${granted.shift()}/settle`, { actualTokens: 250 });
  }
}

/** Begins; returns what ends it. */
export async function start() {
  await seed();
  let running = true;
  const again = async (work) => {
    for (let count = 0; running; count++) {
      await work(count);
      await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    }
  };
  const traffic = Promise.all([
    again(step),
    again(() => consume("orders", 40, { action: "ack" }, open, WAIT_MS)),
    again(() => consume("webhooks", 10, { action: "ack" }, open, WAIT_MS)),
  ]);
  // What goes wrong in it is told at the end.
  traffic.catch(() => {});
  return async () => {
    running = false;
    await traffic;
  };
}
