// Everybody can use it: by keyboard, with a screen reader, in the dark, on a phone. Screenshots.
import assert from "node:assert/strict";
import {
  action,
  assertAccessible,
  assertFits,
  dialog,
  inBrowser,
  nextLook,
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

/** All that differs in other colors. */
const COLORS = ["color-contrast"];

/**
 * What there is to see of each view, what it asks for before there is more to see, and what must be
 * on the screen of a phone.
 */
const VIEWS = [
  {
    view: "overview",
    ready: '[data-testid="rate-chart"][aria-label*="/s, out "]',
    reach: ["alerts li", "levels li", 'busiest [data-row="orders"] :is([data-cell="waiting"], a)'],
  },
  {
    view: "queues",
    ready: '[data-row="orders"]',
    reach: [
      'queues [data-row="orders"] :is([data-cell="waiting"], [data-cell="out"], [data-cell="dead"] a)',
      'queues [data-row="orders"] [data-action]',
    ],
  },
  {
    view: "queue",
    hash: "#/queue/orders",
    ready: '[data-testid="share-chart"][aria-label*=" % ("]',
    reach: [
      'tenants [data-row="gold"] :is(th, [data-cell="share"], [data-cell="pending"], .pill)',
      'tenants [data-row="gold"] :is([data-cell="weight"], [data-cell="waited"])',
      'tenants [data-sort="pending"]',
    ],
  },
  {
    view: "throttles",
    ready: '[data-row="provider:acme"]',
    reach: [
      'throttles [data-row="provider:acme"] :is([data-cell="level"] .beside, [data-action])',
      'throttles [data-row="provider:acme"] :is([data-cell="taken"], [data-cell="holds"], [data-cell="next"])',
      'limits [data-row="login:alice"] :is([data-cell="level"] .beside, [data-action])',
    ],
  },
  { view: "models", ready: '[data-row="busy"]', look: "/v1/governor/status", reach: [] },
  {
    view: "tickets",
    hash: "#/tickets/slow",
    ready: "[data-row]",
    reach: ['tickets [data-row] :is([data-cell="position"], [data-cell="eta"], [data-action])'],
  },
  { view: "dead", ready: '[data-row="emails.dlq"]', reach: ["dead-queues [data-row] [data-action]"] },
  {
    view: "dead-letters",
    hash: "#/dead/emails.dlq",
    ready: "[data-row]",
    reach: ['dead-letters [data-row] :is([data-cell="error"], [data-action])'],
  },
];

/** Whoever scrolls down gets to it; nobody has to go sideways. */
async function assertReached(page, where, selector) {
  const [id, ...rest] = selector.split(" ");
  const found = page.locator(`[data-testid="${id}"] ${rest.join(" ")}`);
  const look = () =>
    found.evaluateAll((all) =>
      all.map((each) => {
        const { left, right, width, height } = each.getBoundingClientRect();
        return [width > 0 && height > 0 && left >= 0 && right <= innerWidth, each.outerHTML];
      }),
    );
  const isReached = (boxes) => boxes.length > 0 && boxes.every(([isThere]) => isThere);
  // The page is drawn anew while it is looked at, and a busy machine lays it out late.
  let boxes = await look();
  for (let end = Date.now() + 10_000; !isReached(boxes) && Date.now() < end; boxes = await look()) {
    await page.waitForTimeout(100);
  }
  assert.ok(boxes.length > 0, where + " has " + selector);
  assert.deepEqual(
    boxes.filter(([isThere]) => !isThere),
    [],
    where + ": it is off the screen",
  );
}

for (const { view, hash, ready, look, reach } of VIEWS) {
  inBrowser(`${view}: accessible in light and dark, fits a phone`, {}, async (page) => {
    await visit(page, view, hash);
    await page.locator(ready).first().waitFor();
    if (look) {
      await nextLook(page, look);
    }
    await assertAccessible(page, view + " light");
    await shoot(page, `${view} light`, { fullPage: true });
    await page.emulateMedia({ colorScheme: "dark" });
    await assertAccessible(page, view + " dark", COLORS);
    await shoot(page, `${view} dark`, { fullPage: true });
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize(PHONE);
    await assertFits(page, view);
    for (const each of reach) {
      await assertReached(page, view + " on a phone", each);
    }
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
      await assertAccessible(page, name + " " + colorScheme, colorScheme === "dark" ? COLORS : null);
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
  const queue = await visit(page, "queue", "#/queue/idle");
  await each("change a queue", () => action(queue, "change").click(), "change-queue");
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
    assert.equal(await action(page, "theme").getAttribute("aria-label"), "Use light colors");
    await action(page, "theme").click();
    const light = await background();
    assert.notEqual(light, dark);
    await page.reload();
    await shown(page, "overview");
    assert.equal(await background(), light);
    await visit(page, "queue", "#/queue/orders");
    const swatch = testid(page, "shares").locator('[data-row="gold"] .swatch');
    const gold = () => swatch.evaluate((it) => getComputedStyle(it).backgroundColor);
    const before = await gold();
    await action(page, "theme").click();
    assert.notEqual(await gold(), before, "colors of lines change at once");
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
    // Tests that run beside this one make queues, whose rows have buttons too.
    for (let i = 0; i < 500; i++) {
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
  await nextLook(page, "/v1/queues");
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
