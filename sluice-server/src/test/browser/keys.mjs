// A server that asks for a key.
import assert from "node:assert/strict";
import {
  action,
  api,
  assertAccessible,
  dialog,
  inBrowser,
  KEY,
  KEYED,
  row,
  shoot,
  shown,
  testid,
  until,
  visit,
} from "./harness.mjs";
import { createQueue, deadLetters, enqueue } from "./live.mjs";

const keyed = api(KEYED, KEY);
const REFUSED = /Failed to load resource: the server responded with a status of 40[13]/;
const options = { at: KEYED, given, expected: [REFUSED] };

async function given() {
  for (const queue of ["foo.a", "foo.b", "bar"]) {
    await createQueue(queue, {}, keyed);
    await enqueue(queue, [{ payload: "x", fairness_key: "t" }], keyed);
  }
  await keyed.put("/v1/throttles/secret", { rate_per_second: 1, burst: 1 });
}

const newKey = (...permissions) =>
  keyed.post("/v1/api-keys", {
    name: "test",
    permissions: permissions.map((each) => ({
      kind: each.slice(0, each.indexOf(":")),
      pattern: each.slice(each.indexOf(":") + 1),
    })),
  });

async function signIn(page, key) {
  await dialog(page, "sign-in").getByLabel("API key").fill(key);
  await action(dialog(page, "sign-in"), "confirm").click();
}

async function signedIn(page, key, view, hash = "#/" + view) {
  await page.goto(KEYED + "/" + hash);
  await signIn(page, key);
  await dialog(page, "sign-in").waitFor({ state: "detached" });
  return shown(page, view);
}

inBrowser("sign in: asked for, a wrong key is refused, nothing is shown before", options, async (page) => {
  await page.goto(KEYED + "/#/queues");
  const asked = dialog(page, "sign-in");
  await asked.waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await asked.waitFor();
  assert.equal(await asked.getByLabel("API key").getAttribute("type"), "password");
  await signIn(page, "wrong");
  await testid(asked, "dialog-error").waitFor();
  assert.match(await testid(asked, "dialog-error").textContent(), /key/);
  assert.equal(await page.locator("[data-row]").count(), 0);
  await signIn(page, "ключ");
  await testid(asked, "dialog-error").getByText("An API key has only printable ASCII characters.").waitFor();
  await signIn(page, "  " + KEY + " ");
  await row(page, "queues", "bar").waitFor();
  assert.ok(await action(page, "sign-out").isVisible());
});

inBrowser("sign in: the key is this tab's alone; sign out forgets it", options, async (page, context) => {
  await signedIn(page, KEY, "queues");
  await row(page, "queues", "bar").waitFor();
  assert.ok(!page.url().includes(KEY));
  assert.equal(await page.evaluate(() => JSON.stringify(localStorage) + document.cookie), "{}");
  await page.reload();
  await row(page, "queues", "bar").waitFor();
  const other = await context.newPage();
  await other.goto(KEYED + "/");
  await dialog(other, "sign-in").waitFor();
  await other.close();
  await action(page, "sign-out").click();
  await dialog(page, "sign-in").waitFor();
  assert.equal(await page.locator("[data-row]").count(), 0, "nothing stays on the screen");
  assert.ok(!(await page.evaluate(() => JSON.stringify(sessionStorage))).includes(KEY));
  await page.reload();
  await dialog(page, "sign-in").waitFor();
});

/** What a chart has of each line. */
const drawn = (page, chart) =>
  testid(page, chart).evaluate((canvas) =>
    (window.Chart?.getChart(canvas)?.data.datasets ?? []).map((line) => line.data.map(({ y }) => y)),
  );

inBrowser("sign out: the next key sees nothing of what the one before saw", options, async (page) => {
  const { secret: key } = await newKey("admin:foo.*");
  await signedIn(page, KEY, "overview");
  await until("traffic is in the chart", async () => {
    await enqueue("bar", [{ payload: "x", fairness_key: "t" }], keyed);
    return (await drawn(page, "rate-chart"))[0]?.some((each) => each > 0);
  });
  await action(page, "sign-out").click();
  await dialog(page, "sign-in").waitFor();
  assert.ok(await dialog(page, "sign-in").getByLabel("API key").evaluate((it) => it === document.activeElement));
  await until("it is told", async () => (await testid(page, "status").textContent()) === "Signed out");
  await signIn(page, key);
  await until("rates are known", async () => (await testid(page, "total-in").textContent()) === "0/s");
  const seen = (await drawn(page, "rate-chart")).flat();
  assert.ok(seen.length > 0 && seen.every((each) => !each), "what the first key saw: " + seen);
});

inBrowser("a key that may administer some queues sees these alone", options, async (page) => {
  const { secret: key } = await newKey("admin:foo.*");
  await signedIn(page, key, "queues");
  await row(page, "queues", "foo.a").waitFor();
  assert.deepEqual(
    (await page.locator("[data-row]").evaluateAll((rows) => rows.map((each) => each.dataset.row))).sort(),
    ["foo.a", "foo.b"],
  );
  await visit(page, "throttles", "#/throttles", KEYED);
  await testid(page, "throttles-empty").getByText("No throttle key has a limit, or this key may see none.").waitFor();
  assert.ok(await action(page, "new-throttle").isHidden());
  await action(page, "new-limit").waitFor();
  assert.ok(!(await page.locator("main").textContent()).includes("secret"));
  await visit(page, "overview", "#/overview", KEYED);
  await until(
    "two messages of two queues",
    async () => (await testid(page, "total-waiting").textContent()) === "2",
  );
  await visit(page, "queue", "#/queue/bar", KEYED);
  await testid(page, "missing").getByText(/bar/).waitFor();
  assert.equal(await testid(page, "queue-waiting").textContent(), "–");
  await visit(page, "models", "#/models", KEYED);
  await testid(page, "models-empty").waitFor();
  await visit(page, "tickets", "#/tickets", KEYED);
  await page.getByText("No models are configured, or this key may see none.").waitFor();
  await visit(page, "dead", "#/dead", KEYED);
  await testid(page, "dead-queues-empty").getByText("There are no dead letters, or this key").waitFor();
});

inBrowser("what a key may not know is not told as 0", options, async (page) => {
  await deadLetters("mine", [{ payload: "x", fairness_key: "t" }], "no", keyed);
  const { secret: key } = await newKey("admin:mine");
  await signedIn(page, key, "queues");
  await row(page, "queues", "mine").getByRole("link", { name: "1 dead letter of mine" }).waitFor();
  await visit(page, "throttles", "#/throttles", KEYED);
  await testid(page, "limits-empty").getByText("There are no limits yet, or this key may see none.").waitFor();
  await visit(page, "overview", "#/overview", KEYED);
  await page.getByText("1 dead letter to review").waitFor();
  const figures = ["waiting", "throttled", "line", "dead"].map((each) => testid(page, "total-" + each));
  assert.deepEqual(await Promise.all(figures.map((each) => each.textContent())), ["0", "–", "–", "1"]);
});

const buttons = (page) =>
  page
    .locator("main [data-action]:visible")
    .evaluateAll((all) => [...new Set(all.map((each) => each.dataset.action))].sort());

inBrowser("a key that may only read: sees everything, is offered no change", options, async (page) => {
  await deadLetters("seen", [{ payload: "to be read", fairness_key: "t" }], "no", keyed);
  await keyed.put("/v1/limits/login", { rate_per_second: 1, burst: 1 });
  const { secret: key } = await newKey("read:*");
  await signedIn(page, key, "queues");
  await row(page, "queues", "bar").waitFor();
  assert.deepEqual(await buttons(page), ["open"]);
  await shoot(page, "queues read only", { fullPage: true });
  await visit(page, "queue", "#/queue/bar", KEYED);
  await row(page, "tenants", "t").waitFor();
  assert.deepEqual(await buttons(page), ["dead", "find", "limit", "order"]);
  await shoot(page, "queue read only", { fullPage: true });
  await visit(page, "throttles", "#/throttles", KEYED);
  await row(page, "throttles", "secret").waitFor();
  await row(page, "limits", "login").waitFor();
  assert.deepEqual(await buttons(page), ["look-up", "waiters"]);
  await shoot(page, "throttles read only", { fullPage: true });
  await visit(page, "models", "#/models", KEYED);
  await page.locator('[data-testid="model"]').first().waitFor();
  assert.deepEqual(await buttons(page), []);
  await visit(page, "tickets", "#/tickets", KEYED);
  await page.getByText("No requests wait for").waitFor();
  await visit(page, "dead-letters", "#/dead/seen.dlq", KEYED);
  await action(page, "inspect").click();
  await testid(page, "payload").getByText("to be read").waitFor();
  await shoot(page, "dead letters read only");
  await page.keyboard.press("Escape");
  assert.deepEqual(await buttons(page), ["inspect"]);
  await visit(page, "overview", "#/overview", KEYED);
  await until("figures are there", async () => (await testid(page, "total-line").textContent()) === "0");
  await assertAccessible(page, "overview read only");
});

inBrowser("a key that may change some things is offered these", options, async (page) => {
  await deadLetters("part", [{ payload: "x", fairness_key: "t" }], "no", keyed);
  const { id, secret: key } = await newKey("read:*", "admin:part");
  await signedIn(page, key, "queues");
  await action(row(page, "queues", "part"), "delete").waitFor();
  assert.ok(await action(row(page, "queues", "bar"), "delete").isHidden());
  await visit(page, "dead", "#/dead", KEYED);
  await row(page, "dead-queues", "part.dlq").waitFor();
  assert.ok(await action(row(page, "dead-queues", "part.dlq"), "redrive").isHidden(), "it needs produce, too");
  await visit(page, "dead-letters", "#/dead/part.dlq", KEYED);
  await action(page, "purge").waitFor();
  assert.ok(await action(page, "redrive").isHidden());
  await keyed.put("/v1/api-keys/" + id + "/permissions", {
    permissions: ["read:*", "admin:part", "produce:part"].map((each) => ({
      kind: each.split(":")[0],
      pattern: each.split(":")[1],
    })),
  });
  await page.reload();
  await action(page, "redrive").click();
  await action(dialog(page, "redrive"), "confirm").click();
  await testid(page, "toasts").getByText("1 message went back.").waitFor();
});

inBrowser("a key that may only use models sees these", options, async (page) => {
  const { secret: key } = await newKey("governor:*");
  await signedIn(page, key, "models");
  await page.locator('[data-testid="model"]').first().waitFor();
  await visit(page, "tickets", "#/tickets", KEYED);
  await page.getByText(/may not see the waiting list: that needs read on model:/).waitFor();
  await visit(page, "overview", "#/overview", KEYED);
  await page.getByText("No problems that this key may see.").waitFor();
  await page.getByText("needs read", { exact: true }).waitFor();
});

inBrowser("a key that may only produce: every view says so or is empty", options, async (page) => {
  const { secret: key } = await newKey("produce:foo.a");
  await signedIn(page, key, "queues");
  for (const view of ["queues", "throttles", "models", "tickets", "dead", "overview"]) {
    await visit(page, view, "#/" + view, KEYED);
    await until(
      "an answer is there",
      async () =>
        (await testid(page, "status").textContent()) === "Live" || (await testid(page, "banner").isVisible()),
    );
    assert.ok(!/foo\.b|bar|secret/.test(await page.locator("main").textContent()));
    await testid(page, "banner").getByText("the API key does not allow this; it needs read on any name").waitFor();
    assert.deepEqual(
      (await buttons(page)).filter((each) => !["look-up", "model", "previous", "next"].includes(each)),
      [],
    );
  }
});

inBrowser("a key that is revoked while somebody looks: signs in anew", options, async (page) => {
  const { id, secret: key } = await newKey("admin:*");
  await signedIn(page, key, "queues");
  await row(page, "queues", "bar").waitFor();
  await action(row(page, "queues", "bar"), "purge").click();
  await dialog(page, "purge-queue").waitFor();
  await keyed.remove("/v1/api-keys/" + id);
  await dialog(page, "sign-in")
    .getByText(/no longer valid/)
    .waitFor();
  assert.equal(await page.locator("main *, dialog:not([data-dialog=sign-in])").count(), 0, "nothing stays");
  await signIn(page, KEY);
  await row(page, "queues", "bar").waitFor();
});
