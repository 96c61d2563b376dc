// Everybody can use it: by keyboard, with a screen reader, in the dark, on a phone. Screenshots.
import assert from "node:assert/strict";
import {
  action,
  assertAccessible,
  assertFits,
  dialog,
  inBrowser,
  PHONE,
  row,
  shoot,
  shown,
  testid,
  until,
  visit,
} from "./harness.mjs";

const DESK = { width: 1280, height: 800 };

const live = (page) =>
  until("it is live", async () => (await testid(page, "status").textContent()) === "Live");

/** What there is to see of each view, and how long until charts have something to show. */
const VIEWS = [
  { view: "overview", ready: '[data-testid="alerts"] li', charts: true },
  { view: "queues", ready: '[data-row="orders"]' },
  { view: "queue", hash: "#/queue/orders", ready: '[data-row="gold"]', charts: true },
  { view: "throttles", ready: '[data-row="provider:acme"]' },
  { view: "models", ready: '[data-row="busy"]', charts: true },
  { view: "tickets", hash: "#/tickets/slow", ready: "[data-row]" },
  { view: "dead", ready: '[data-row="emails.dlq"]' },
  { view: "dead-letters", hash: "#/dead/emails.dlq", ready: "[data-row]" },
];

for (const { view, hash, ready, charts } of VIEWS) {
  inBrowser(`${view}: accessible in light and dark, fits a phone`, {}, async (page) => {
    await visit(page, view, hash);
    await page.locator(ready).first().waitFor();
    if (charts) {
      await page.waitForTimeout(4_000);
    }
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await assertAccessible(page, view + " " + colorScheme);
      await shoot(page, `${view} ${colorScheme}`, { fullPage: true });
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize(PHONE);
    await assertFits(page, view);
    await assertAccessible(page, view + " phone");
    await shoot(page, `${view} phone`, { fullPage: true });
    await page.setViewportSize({ ...DESK, width: 320 });
    await assertFits(page, view + " at 320");
  });
}

inBrowser("dialogs: accessible in light and dark, fit a phone", {}, async (page) => {
  const view = await visit(page, "queues");
  await row(page, "queues", "idle").waitFor();
  const each = async (name, open, id) => {
    await open();
    await dialog(page, id).waitFor();
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await assertAccessible(page, name + " " + colorScheme);
      await shoot(page, `${name} ${colorScheme}`);
    }
    await page.setViewportSize(PHONE);
    await assertFits(page, name);
    const box = await dialog(page, id).boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= PHONE.width, "the dialog fits");
    await shoot(page, `${name} phone`);
    await page.setViewportSize(DESK);
    await page.keyboard.press("Escape");
    await dialog(page, id).waitFor({ state: "detached" });
  };
  await each("create a queue", () => action(view, "create-queue").click(), "create-queue");
  await each("purge a queue", () => action(row(page, "queues", "idle"), "purge").click(), "purge-queue");
  await visit(page, "dead-letters", "#/dead/emails.dlq");
  await each("inspect a message", () => action(page, "inspect").first().click(), "message");
});

inBrowser(
  "theme: chosen by hand, kept, and by the system before that",
  { colorScheme: "dark" },
  async (page) => {
    await visit(page, "overview");
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    assert.equal(await action(page, "theme").getAttribute("aria-label"), "Use light colours");
    await action(page, "theme").click();
    const light = await background();
    assert.notEqual(light, dark);
    await page.reload();
    await shown(page, "overview");
    assert.equal(await background(), light);
  },
);

inBrowser("keyboard alone: skip, go to a queue, purge it, come back", {}, async (page) => {
  await visit(page, "queues");
  await row(page, "queues", "idle").waitFor();
  const focused = () =>
    page.evaluate(
      () => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent.trim(),
    );
  const tabTo = async (what) => {
    for (let i = 0; i < 120; i++) {
      await page.keyboard.press("Tab");
      if (what.test(await focused())) {
        return;
      }
    }
    assert.fail("the keyboard does not reach " + what);
  };
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Skip to content");
  const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(ring, "none", "what has the focus can be seen");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await tabTo(/^Purge idle$/);
  await page.keyboard.press("Enter");
  await dialog(page, "purge-queue").waitFor();
  assert.equal(await focused(), "Cancel", "what cannot be undone is not a key away");
  await tabTo(/^Purge$/);
  await page.keyboard.press("Enter");
  await testid(page, "toasts").getByText("0 messages deleted from idle.").waitFor();
  assert.equal(await focused(), "Purge idle", "the focus is where it was");
  // Rows are painted anew each second: the focus must not be lost by that.
  await page.waitForTimeout(1_500);
  assert.equal(await focused(), "Purge idle");
  await tabTo(/^Delete idle$/);
  await page.reload();
  await tabTo(/^Models$/);
  await page.keyboard.press("Enter");
  await shown(page, "models");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main", "a new view has the focus");
});

inBrowser(
  "screen reader: landmarks, headings, words for charts and what came of an action",
  {},
  async (page) => {
    await visit(page, "queue", "#/queue/orders");
    await live(page);
    assert.equal(await page.getByRole("main").count(), 1);
    assert.equal(await page.getByRole("banner").count(), 1);
    assert.equal(await page.getByRole("navigation", { name: "Main" }).count(), 1);
    assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1);
    assert.equal(await testid(page, "toasts").getAttribute("aria-live"), "polite");
    assert.equal(await testid(page, "banner").getAttribute("role"), "alert");
    assert.match(
      await page.getByRole("img", { name: /Share of service/ }).getAttribute("aria-label"),
      /by weight/,
    );
    await until("meters say their value", async () =>
      /% of service, .* % by weight/.test(
        (await row(page, "tenants", "gold").getByRole("meter").getAttribute("aria-valuetext")) ?? "",
      ),
    );
  },
);
