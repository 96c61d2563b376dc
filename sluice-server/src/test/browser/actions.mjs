// Every action: asked for, confirmed, and its effect seen through the API.
import assert from "node:assert/strict";
import { action, api, dialog, inBrowser, row, shown, testid, until, visit } from "./harness.mjs";
import { createQueue, deadLetters, enqueue, ticket } from "./live.mjs";

const open = api();
const depth = async (queue) => (await open.get("/v1/queues/" + queue)).stats.depth;
const messages = (count) =>
  Array.from({ length: count }, (_, i) => ({ payload: "m" + i, fairness_key: "t" }));

async function confirm(page, id) {
  await action(dialog(page, id), "confirm").click();
  await dialog(page, id).waitFor({ state: "detached" });
}

const toast = (page, words) => testid(page, "toasts").getByText(words).first().waitFor();

inBrowser("create a queue", {}, async (page) => {
  const view = await visit(page, "queues");
  await action(view, "create-queue").click();
  const asked = dialog(page, "create-queue");
  await asked.getByLabel("Name").fill("made.here");
  await asked.getByLabel("Lease (ms)").fill("5000");
  await asked.getByLabel(/Attempts/).fill("3");
  await asked.getByLabel(/Keep the order/).check();
  await confirm(page, "create-queue");
  await toast(page, "Queue made.here is created.");
  await row(page, "queues", "made.here").waitFor();
  const { config } = await open.get("/v1/queues/made.here");
  assert.equal(config.lease_timeout_ms, 5_000);
  assert.equal(config.max_attempts, 3);
  assert.equal(config.strict_order, true);
});

inBrowser("create a queue: the dialog has the server's defaults", {}, async (page) => {
  await open.post("/v1/queues", { name: "by.api" });
  const view = await visit(page, "queues");
  await action(view, "create-queue").click();
  const asked = dialog(page, "create-queue");
  await asked.getByLabel("Name").fill("by.console");
  await confirm(page, "create-queue");
  await toast(page, "Queue by.console is created.");
  const { config } = await open.get("/v1/queues/by.console");
  assert.deepEqual(config, (await open.get("/v1/queues/by.api")).config);
  assert.equal(config.max_attempts, 10);
});

inBrowser("change settings of a queue, unless somebody else has", { expected: [/status of 412/] }, async (page) => {
  await createQueue("edited", { max_depth: 7, lease_timeout_ms: 5_000 });
  const view = await visit(page, "queue", "#/queue/edited");
  await action(view, "change").click();
  const asked = dialog(page, "change-queue");
  assert.equal(await asked.getByLabel("Lease (ms)").inputValue(), "5000");
  await asked.getByLabel(/Attempts/).fill("4");
  await asked.getByLabel("Lease (ms)").fill("");
  await confirm(page, "change-queue");
  await toast(page, "The settings of edited are saved.");
  const { config } = await open.get("/v1/queues/edited");
  assert.equal(config.max_attempts, 4);
  assert.equal(config.lease_timeout_ms, 30_000);
  assert.equal(config.max_depth, 7);

  await action(view, "change").click();
  await asked.getByLabel(/Attempts/).fill("6");
  await open.patch("/v1/queues/edited", { max_depth: 8 });
  await action(asked, "confirm").click();
  await testid(asked, "dialog-error").getByText("the queue has changed").waitFor();
  await action(asked, "cancel").click();
  assert.equal((await open.get("/v1/queues/edited")).config.max_attempts, 4);
});

inBrowser("canceled: nothing happens", {}, async (page) => {
  await createQueue("kept");
  await enqueue("kept", messages(2));
  await visit(page, "queues");
  await action(row(page, "queues", "kept"), "purge").click();
  await action(dialog(page, "purge-queue"), "cancel").click();
  await dialog(page, "purge-queue").waitFor({ state: "detached" });
  await action(row(page, "queues", "kept"), "delete").click();
  await dialog(page, "delete-queue").waitFor();
  await page.keyboard.press("Escape");
  await dialog(page, "delete-queue").waitFor({ state: "detached" });
  assert.equal(await depth("kept"), 2);
});

inBrowser("purge and delete a queue from the list", {}, async (page) => {
  await createQueue("listed");
  await enqueue("listed", messages(3));
  await visit(page, "queues");
  await action(row(page, "queues", "listed"), "purge").click();
  await confirm(page, "purge-queue");
  await toast(page, "3 messages deleted from listed.");
  assert.equal(await depth("listed"), 0);
  await action(row(page, "queues", "listed"), "delete").click();
  await confirm(page, "delete-queue");
  await row(page, "queues", "listed").waitFor({ state: "detached" });
  assert.equal(await open.status("/v1/queues/listed"), 404);
});

// A request that is under way while the queue is deleted finds nothing.
const DELETED = [/404 .*\/v1\/queues\/detailed/];

inBrowser("purge and delete a queue from its own view", { expected: DELETED }, async (page) => {
  await createQueue("detailed");
  await enqueue("detailed", messages(3));
  const view = await visit(page, "queue", "#/queue/detailed");
  await action(view, "purge").click();
  await confirm(page, "purge-queue");
  await until("nothing waits", async () => (await testid(view, "queue-waiting").textContent()) === "0");
  assert.equal(await depth("detailed"), 0);
  await action(view, "delete").click();
  await confirm(page, "delete-queue");
  await shown(page, "queues");
  assert.equal(await open.status("/v1/queues/detailed"), 404);
});

inBrowser("redrive some dead letters, then all, then purge", {}, async (page) => {
  await deadLetters("failing", messages(5), "no");
  await visit(page, "dead");
  await action(row(page, "dead-queues", "failing.dlq"), "redrive").click();
  await dialog(page, "redrive").getByLabel("How many").fill("2");
  await confirm(page, "redrive");
  await toast(page, "2 messages went back.");
  assert.equal(await depth("failing"), 2);
  await action(row(page, "dead-queues", "failing.dlq"), "open").click();
  const view = await shown(page, "dead-letters");
  await until(
    "three are left",
    async () => (await testid(view, "dead-summary").textContent()) === "3 messages.",
  );
  await action(view, "redrive").click();
  await confirm(page, "redrive");
  await testid(view, "dead-letters-empty").waitFor();
  assert.equal(await depth("failing"), 5);
  assert.equal(await depth("failing.dlq"), 0);
  await deadLetters("hopeless", messages(2), "no");
  await visit(page, "dead-letters", "#/dead/hopeless.dlq");
  await action(page, "purge").click();
  await confirm(page, "purge-queue");
  await until("they are gone", async () => (await depth("hopeless.dlq")) === 0);
});

const throttles = async () => (await open.get("/v1/throttles")).throttles;
const limits = async () => (await open.get("/v1/limits")).limits;

for (const { what, button, table, all } of [
  { what: "throttle key", button: "new-throttle", table: "throttles", all: throttles },
  { what: "limit", button: "new-limit", table: "limits", all: limits },
]) {
  inBrowser(`${what}: create, change, remove`, {}, async (page) => {
    const view = await visit(page, "throttles");
    const now = async () => (await all()).find((each) => (each.name ?? each.key) === "made:" + table);
    await action(view, button).click();
    const asked = dialog(page, "change-limit");
    await asked.getByLabel(what === "limit" ? "Name" : "Key").fill("made:" + table);
    await asked.getByLabel("Tokens per second").fill("2.5");
    await asked.getByLabel("Burst").fill("7");
    await confirm(page, "change-limit");
    await row(page, table, "made:" + table).waitFor();
    assert.equal((await now()).rate_per_second, 2.5);
    assert.equal((await now()).burst, 7);
    await action(row(page, table, "made:" + table), "change-limit").click();
    assert.equal(await asked.getByLabel("Tokens per second").inputValue(), "2.5");
    await asked.getByLabel("Tokens per second").fill("40");
    await confirm(page, "change-limit");
    await toast(page, `The limit made:${table} is set.`);
    assert.equal((await now()).rate_per_second, 40);
    await until("the new rate is shown", async () =>
      /40\/s/.test(await row(page, table, "made:" + table).textContent()),
    );
    await action(row(page, table, "made:" + table), "remove-limit").click();
    await confirm(page, "remove-limit");
    await row(page, table, "made:" + table).waitFor({ state: "detached" });
    assert.equal(await now(), undefined);
  });
}

inBrowser("a throttle key that is removed lets go of who waits for it", {}, async (page) => {
  await createQueue("held");
  await open.put("/v1/throttles/held:provider", { rate_per_second: 0.001, burst: 1 });
  await enqueue(
    "held",
    messages(4).map((each) => ({ ...each, throttle_keys: { "held:provider": 1 } })),
  );
  const take = () => open.post("/v1/queues/held/receive", { max_messages: 10, wait_ms: 1_000 });
  assert.equal((await take()).deliveries.length, 1);
  await visit(page, "throttles");
  await until("somebody waits", async () =>
    /^1$/.test(await row(page, "throttles", "held:provider").locator('[data-cell="waiting"]').textContent()),
  );
  await action(row(page, "throttles", "held:provider"), "remove-limit").click();
  await confirm(page, "remove-limit");
  assert.equal((await take()).deliveries.length, 3);
});

inBrowser("a throttle key without a limit is noticed, and refused if the queue is strict", {}, async (page) => {
  await createQueue("misspelled");
  const sent = messages(1).map((each) => ({ ...each, throttle_keys: { "provide:acme": 1 } }));
  const view = await visit(page, "queue", "#/queue/misspelled");
  assert.equal(await testid(view, "unknown-throttles").isVisible(), false);
  await enqueue("misspelled", sent);
  await testid(view, "unknown-throttles")
    .getByText("1 message named a throttle key that has no limit, such as provide:acme.")
    .waitFor();
  await action(view, "change").click();
  await dialog(page, "change-queue").getByLabel(/Refuse throttle keys/).check();
  await confirm(page, "change-queue");
  await assert.rejects(() => enqueue("misspelled", sent), /throttle key must have a limit/);
  const overview = await visit(page, "overview");
  await testid(overview, "alerts").getByText(/^Messages of misspelled named the throttle key provide:acme/).waitFor();
});

inBrowser("cancel a ticket", {}, async (page) => {
  const mine = await ticket("short", 50, { tenant: "leaver", priority: "P2_batch" });
  const view = await visit(page, "tickets", "#/tickets/short");
  await action(row(page, "tickets", mine), "cancel-ticket").click();
  await confirm(page, "cancel-ticket");
  await row(page, "tickets", mine).waitFor({ state: "detached" });
  await toast(page, "The ticket is canceled.");
  const line = await open.get("/v1/governor/models/short/waiting-list");
  assert.ok(!line.tickets.some((each) => each.ticket === mine));
  await view.getByText("No requests wait for short.").waitFor();
});

inBrowser("reload the budgets", {}, async (page) => {
  const view = await visit(page, "models");
  await action(view, "reload").click();
  await confirm(page, "reload");
  await toast(page, "The budgets are reloaded.");
});
