// The server says no, or nothing at all.
import assert from "node:assert/strict";
import {
  action,
  api,
  CONTROL,
  dialog,
  inBrowser,
  LEAVING,
  row,
  shown,
  testid,
  until,
  visit,
} from "./harness.mjs";
import { createQueue, ticket } from "./live.mjs";

const open = api();

/** What the browser itself logs of an answer that is an error, or of none. */
const BAD_ANSWER = /Failed to load resource: the server responded with a status of 4\d\d/;
const NO_ANSWER = /Failed to load resource: net::ERR_/;
// A server that stops refuses what comes while it ends open calls.
const DRAINING = /Failed to load resource: .* 503 /;

/** What the API answers to a request, in its own words. */
async function words(call) {
  const refused = await call.then(
    () => assert.fail("it was not refused"),
    (error) => error,
  );
  return JSON.parse(refused.message.slice(refused.message.indexOf("{"))).error.message;
}

async function assertRefused(page, id, message) {
  const asked = dialog(page, id);
  await action(asked, "confirm").click();
  await testid(asked, "dialog-error").getByText(message, { exact: true }).waitFor();
  assert.ok(await asked.isVisible(), "the dialog stays, with what was typed");
}

inBrowser(
  "refused: a queue that exists, a name that breaks a rule",
  { expected: [BAD_ANSWER] },
  async (page) => {
    const view = await visit(page, "queues");
    await action(view, "create-queue").click();
    const name = dialog(page, "create-queue").getByLabel("Name");
    for (const bad of ["orders", "no spaces"]) {
      await name.fill(bad);
      await assertRefused(page, "create-queue", await words(open.post("/v1/queues", { name: bad })));
      assert.equal(await name.inputValue(), bad);
    }
    await name.fill("good.at.last");
    await action(dialog(page, "create-queue"), "confirm").click();
    await row(page, "queues", "good.at.last").waitFor();
  },
);

const DOTS = 'a name must not be . or .., which vanish from paths of URLs, but was ".."';

inBrowser("refused: a rate that breaks a rule", { expected: [BAD_ANSWER] }, async (page) => {
  const view = await visit(page, "throttles");
  await action(view, "new-limit").click();
  await dialog(page, "change-limit").getByLabel("Name").fill("..");
  await assertRefused(page, "change-limit", DOTS);
  await action(dialog(page, "change-limit"), "cancel").click();
  await action(row(page, "throttles", "provider:asleep"), "change-limit").click();
  await dialog(page, "change-limit").getByLabel("Burst").fill("1e30");
  const rule = await words(
    open.put("/v1/throttles/provider:asleep", { rate_per_second: 0.001, burst: 1e30 }),
  );
  await assertRefused(page, "change-limit", rule);
  const unchanged = (await open.get("/v1/throttles")).throttles.find(
    (each) => each.key === "provider:asleep",
  );
  assert.equal(unchanged.burst, 1);
});

inBrowser("refused: what somebody else has removed meanwhile", { expected: [BAD_ANSWER] }, async (page) => {
  await createQueue("fleeting");
  await visit(page, "queues");
  await action(row(page, "queues", "fleeting"), "delete").click();
  await open.remove("/v1/queues/fleeting");
  await assertRefused(page, "delete-queue", await words(open.remove("/v1/queues/fleeting")));
  const gone = await ticket("short", 10, { tenant: "fleeting", priority: "P2_batch" });
  await visit(page, "tickets", "#/tickets/short");
  await action(row(page, "tickets", gone), "cancel-ticket").click();
  await open.remove("/v1/governor/tickets/" + gone);
  await assertRefused(page, "cancel-ticket", await words(open.remove("/v1/governor/tickets/" + gone)));
});

/** Neither buttons, nor cards, nor a complaint elsewhere. */
async function assertNothingElse(page) {
  await until("it is live", async () => (await testid(page, "status").textContent()) === "Live");
  assert.equal(await page.locator("main button:visible, main .tiles:visible, main table:visible").count(), 0);
  assert.ok(await testid(page, "banner").isHidden());
}

inBrowser("a queue is deleted while somebody looks, and made again", { expected: [BAD_ANSWER] }, async (page) => {
  await createQueue("vanishing");
  const view = await visit(page, "queue", "#/queue/vanishing");
  await until("it is there", async () => (await testid(view, "queue-waiting").textContent()) === "0");
  assert.equal(await action(view, "dead").getAttribute("href"), "#/dead/vanishing.dlq");
  await visit(page, "queue", "#/queue/vanishing.dlq");
  await until("it is there", async () => (await testid(view, "queue-waiting").textContent()) === "0");
  assert.equal(await action(view, "dead").count(), 0, "dead letters have no dead letters");
  await open.remove("/v1/queues/vanishing");
  await testid(page, "missing").waitFor();
  await assertNothingElse(page);
  await createQueue("vanishing");
  await action(view, "purge").waitFor();
  await testid(page, "missing").waitFor({ state: "hidden" });
});

inBrowser(
  "refused: a queue, a model and an address that do not exist",
  { expected: [BAD_ANSWER] },
  async (page) => {
    const refused = (queue) => words(open.get(`/v1/queues/${queue}/fairness-keys`));
    for (const [view, hash, back, why] of [
      ["queue", "#/queue/nowhere", "queues", await refused("nowhere")],
      ["queue", "#/queue/..", "queues", DOTS],
      ["dead-letters", "#/dead/nowhere.dlq", "dead", await refused("nowhere.dlq")],
      ["dead-letters", "#/dead/orders", "dead", "A queue of dead letters ends in .dlq: orders"],
    ]) {
      await visit(page, view, hash);
      await testid(page, "missing").getByText(why, { exact: true }).waitFor();
      await assertNothingElse(page);
      await action(testid(page, "missing"), "back").click();
      await shown(page, back);
    }
    await page.locator('[data-nav="queues"]').click();
    await row(page, "queues", "orders").waitFor();
    await visit(page, "tickets", "#/tickets/nobody");
    await page.getByText("There is no model nobody.").waitFor();
    for (const address of ["#/nonsense", "#/queue/%", "#//", "#"]) {
      await page.goto("about:blank");
      await page.goto(process.env.SLUICE_OPEN + "/" + address);
      await page.locator("[data-view]").waitFor();
    }
  },
);

inBrowser("a server with nothing in it: each view says so", { at: LEAVING }, async (page) => {
  for (const [view, id] of [
    ["queues", "queues-empty"],
    ["throttles", "throttles-empty"],
    ["throttles", "limits-empty"],
    ["dead", "dead-queues-empty"],
    ["models", "models-empty"],
  ]) {
    await visit(page, view, "#/" + view, LEAVING);
    await testid(page, id).waitFor();
  }
  await visit(page, "tickets", "#/tickets", LEAVING);
  await page.getByText("No models are configured").waitFor();
  await visit(page, "overview", "#/overview", LEAVING);
  await page.getByText("No problems: no tenant is starved").waitFor();
});

inBrowser("the server goes away and comes back", { at: LEAVING, expected: [NO_ANSWER, DRAINING] }, async (page) => {
  const leaving = api(LEAVING);
  await createQueue("before", {}, leaving);
  await visit(page, "queues", "#/queues", LEAVING);
  await row(page, "queues", "before").waitFor();
  await action(page, "create-queue").click();
  await fetch(CONTROL + "/stop", { method: "POST" });
  const banner = testid(page, "banner");
  await banner.getByText("The server does not answer. Retrying in").waitFor();
  assert.equal(await testid(page, "status").textContent(), "Away");
  assert.ok(await row(page, "queues", "before").isVisible(), "what was known stays");
  await dialog(page, "create-queue").getByLabel("Name").fill("during");
  await assertRefused(page, "create-queue", "The server does not answer.");
  await fetch(CONTROL + "/start", { method: "POST" });
  await banner.waitFor({ state: "hidden" });
  await until("it is live again", async () => (await testid(page, "status").textContent()) === "Live");
  await action(dialog(page, "create-queue"), "confirm").click();
  await row(page, "queues", "during").waitFor();
  await shown(page, "queues");
});
