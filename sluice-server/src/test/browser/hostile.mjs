// Names that somebody chose to do harm or by accident are shown as what they are: text.
import assert from "node:assert/strict";
import { action, api, assertFits, dialog, inBrowser, PHONE, row, shoot, testid, visit } from "./harness.mjs";
import { createQueue, deadLetters, enqueue, ticket } from "./live.mjs";

const open = api();

const HARM = "window.harmed=1";
const NAMES = [
  `<script>${HARM}</script>`,
  `<img src=x onerror="${HARM}">`,
  `"><svg onload=${HARM}>`,
  `javascript:${HARM}`,
  "{{7*7}} ${7*7} <%= 7*7 %>",
  "__proto__",
  "constructor",
  "\u202egnp.exe\u202c and \u0634\u0631\u0643\u0629",
  "👩‍👩‍👧‍👦 🚰 Ünï̈cödé",
  " leading\tand\nnew line ",
  "W".repeat(200),
  "a/b?c=d#e&f%2f",
];

/** Those that a tenant of a model may have. */
const TENANTS = NAMES.filter((name) => !/[\t\n]/.test(name));

const messages = NAMES.map((name) => ({
  payload: name,
  fairness_key: name,
  headers: { [name]: name },
  throttle_keys: { [name]: 1 },
}));

async function given() {
  await createQueue("hostile");
  for (const name of NAMES) {
    await open.put("/v1/throttles/" + encodeURIComponent(name), { rate_per_second: 0.001, burst: 1 });
    await open.put("/v1/limits/" + encodeURIComponent(name), { rate_per_second: 1, burst: 1 });
  }
  await open.post("/v1/governor/requests", { model: "odd", tokens: 1_000 });
  for (const name of TENANTS) {
    await ticket("odd", 5, { tenant: name });
  }
  await enqueue("hostile", messages);
  await deadLetters(
    "hostile.dead",
    messages.map(({ throttles, ...rest }) => rest),
    NAMES[0] + NAMES[7],
  );
}

/** What a name looks like: characters that hide or turn text are written out. */
const visible = (name) =>
  name.replace(/[\p{Cc}\p{Cf}]/gu, (each) =>
    /[\t\n]/.test(each) ? each : "\\u" + each.codePointAt(0).toString(16).padStart(4, "0"),
  );

/** All of them are in a table as text, and none has become an element or has run. */
async function assertText(page, table, cell) {
  for (const name of NAMES) {
    await row(page, table, name).waitFor();
    assert.equal(await row(page, table, name).locator(`[data-cell="${cell}"]`).textContent(), visible(name));
  }
  await assertHarmless(page);
}

async function assertHarmless(page) {
  const turned = await page.evaluate(() =>
    [...document.querySelectorAll("[title], [aria-label]")]
      .flatMap((each) => [each.title, each.ariaLabel ?? ""])
      .concat(document.title)
      .filter((each) => /(?![\t\n])[\p{Cc}\p{Cf}]/u.test(each)),
  );
  assert.deepEqual(turned, [], "words that hide or turn text");
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  assert.equal(
    await page.locator("main script, main img, main [onload], main [onerror], dialog img").count(),
    0,
  );
  await assertFits(page, "a view of hostile names");
}

inBrowser("hostile tenants of a queue", { given }, async (page) => {
  await visit(page, "queue", "#/queue/hostile");
  await assertText(page, "tenants", "key");
  await shoot(page, "hostile tenants");
  for (const prefix of ["{{7*7}} $", "a/b?c=d#e&f%"]) {
    await action(page, "find").fill(prefix);
    await row(page, "tenants", "constructor").waitFor({ state: "detached" });
    const found = await page.locator("[data-testid=tenants] [data-row]").count();
    assert.equal(found, 1, "what begins with " + prefix);
    await action(page, "find").fill("");
    await row(page, "tenants", "constructor").waitFor();
  }
  await action(page, "find").fill(".");
  await testid(page, "keys-summary").getByText("0 tenants match.").waitFor();
  const { matching } = await open.get("/v1/queues/hostile/fairness-keys?prefix=%7B%7B7*7%7D%7D+$");
  assert.equal(matching, 0, "a plus is no space");
});

inBrowser("hostile names in a chart, a state and the title", { expected: [/status of 4\d\d/] }, async (page) => {
  await visit(page, "overview");
  await page.waitForFunction(() => window.Chart);
  const [legend, tips] = await page.evaluate(async () => {
    const { lines } = await import("/console/charts.js");
    const chart = lines("hostile-chart", "Test");
    document.querySelector("main").append(chart);
    const line = { label: "~greedy", values: [1] };
    chart.set([0], [line, { ...line, unnamed: true }], "\u202ewords");
    const { standing } = await import("/console/columns.js");
    const cell = document.createElement("p");
    standing("state", "State", () => ["Throttled by \u202ex", "warn"]).cell(cell);
    chart.append(cell);
    const { legend, data, options } = window.Chart.getChart(chart.firstChild);
    return [
      legend.legendItems.map((each) => each.text),
      data.datasets.map((dataset) => options.plugins.tooltip.filter({ dataset })),
    ];
  });
  assert.deepEqual(legend, ["~greedy"]);
  assert.deepEqual(tips, [true, false]);
  assert.equal(await page.getByTitle("Throttled by \\u202ex").count(), 1);
  assert.equal(await testid(page, "hostile-chart").getAttribute("aria-label"), "Test. \\u202ewords");
  await page.evaluate(() => {
    location.hash = "#/queue/" + encodeURIComponent("\u202eeltit");
  });
  await testid(page, "missing").waitFor();
  assert.equal(await page.title(), "\\u202eeltit · Sluice");
  await assertHarmless(page);
});

inBrowser("hostile throttle keys and limits; changed and removed by their names", { given }, async (page) => {
  await visit(page, "throttles");
  await assertText(page, "throttles", "key");
  await assertText(page, "limits", "name");
  await action(row(page, "throttles", NAMES[0]), "waiters").click();
  await dialog(page, "waiters").waitFor();
  await action(dialog(page, "waiters"), "close").click();
  for (const name of [NAMES[1], NAMES[11], NAMES[9]]) {
    await action(row(page, "limits", name), "change-limit").click();
    await dialog(page, "change-limit").getByLabel("Burst").fill("17");
    await action(dialog(page, "change-limit"), "confirm").click();
    await dialog(page, "change-limit").waitFor({ state: "detached" });
    assert.equal((await open.get("/v1/limits")).limits.find((each) => each.name === name).burst, 17);
  }
  await assertHarmless(page);
});

inBrowser("hostile tenants of tickets", { given }, async (page) => {
  const view = await visit(page, "tickets", "#/tickets/odd");
  for (const name of TENANTS) {
    await view.locator('[data-cell="tenant"]').getByText(visible(name), { exact: true }).waitFor();
  }
  await assertHarmless(page);
});

inBrowser("hostile dead letters: names, errors, headers and payloads", { given }, async (page) => {
  const view = await visit(page, "dead-letters", "#/dead/hostile.dead.dlq");
  const rows = testid(view, "dead-letters").locator("[data-row]");
  await rows.first().waitFor();
  assert.equal(await rows.first().locator('[data-cell="error"]').textContent(), visible(NAMES[0] + NAMES[7]));
  for (let i = 0; i < NAMES.length; i++) {
    await action(rows.nth(i), "inspect").click();
    const message = dialog(page, "message");
    await testid(message, "payload").waitFor();
    await assertHarmless(page);
    if (i === 0) {
      await shoot(page, "hostile message");
      assert.equal(await testid(message, "payload").textContent(), NAMES[0]);
    }
    await action(message, "close").click();
    await message.waitFor({ state: "detached" });
  }
});

inBrowser("hostile names on a phone: the page is no wider", { given, viewport: PHONE }, async (page) => {
  for (const [view, hash, table] of [
    ["queue", "#/queue/hostile", "tenants"],
    ["throttles", "#/throttles", "throttles"],
    ["tickets", "#/tickets/odd", "tickets"],
    ["dead-letters", "#/dead/hostile.dead.dlq", "dead-letters"],
    ["overview", "#/overview", "alerts"],
  ]) {
    await visit(page, view, hash);
    await testid(page, table).locator("tr[data-row], li").first().waitFor();
    await assertHarmless(page);
    await shoot(page, "hostile " + view + " phone");
  }
});
