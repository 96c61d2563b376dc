// Every view, with live data.
import assert from "node:assert/strict";
import {
  action,
  api,
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
import { consume, createQueue, CROWD, deadLetters, enqueue, TENANTS, ticket } from "./live.mjs";

const open = api();

/** A figure as the page writes it: 1,234 or 12 % or 3.5/s. */
const figure = (text) => Number(/-?[\d.,]+/.exec(text)?.[0].replaceAll(",", ""));
const cell = (row, id) => row.locator(`[data-cell="${id}"]`);
const figureOf = async (element) => figure(await element.textContent());

/** Whether anything is drawn on a canvas. */
const isDrawn = (canvas) =>
  canvas.evaluate((it) => {
    const { data } = it.getContext("2d").getImageData(0, 0, it.width, it.height);
    return data.some((each) => each !== 0);
  });

inBrowser("overview: figures of everything, and what needs attention", {}, async (page) => {
  const view = await visit(page, "overview");
  await until("messages wait", async () => (await figureOf(testid(view, "total-waiting"))) > 50);
  await until(
    "messages come and go",
    async () =>
      (await figureOf(testid(view, "total-in"))) > 0 && (await figureOf(testid(view, "total-out"))) > 0,
  );
  assert.ok((await figureOf(testid(view, "total-dead"))) >= 12);
  assert.ok((await figureOf(testid(view, "total-line"))) >= CROWD);
  await until("limits were looked at twice", async () =>
    /\d+ of \d+/.test(await testid(view, "limits-hold").textContent()),
  );
  const [holding, all] = (await testid(view, "limits-hold").textContent()).split(" of ");
  assert.equal(holding, all, "every limit holds");
  const alerts = testid(view, "alerts");
  await alerts.getByText("held by provider:acme").waitFor();
  await alerts.getByText("dead letters to review").click();
  await shown(page, "dead");
  await page.goBack();
  await shown(page, "overview");
  const chart = testid(page, "rate-chart");
  await until("the chart is told in words", async () =>
    /In [\d.]+\/s, out [\d.]+\/s/.test(await chart.getAttribute("aria-label")),
  );
  await until("the chart is drawn", () => isDrawn(chart));
  await until("the server is named", async () =>
    /Sluice \S+, up since/.test(await testid(page, "server").textContent()),
  );
  assert.equal(await testid(page, "status").textContent(), "Live");
});

inBrowser("navigation: every view by its link, with title and mark", {}, async (page) => {
  await visit(page, "overview");
  for (const [link, view, title] of [
    ["queues", "queues", "Queues"],
    ["throttles", "throttles", "Limits"],
    ["models", "models", "Models"],
    ["tickets", "tickets", "Tickets"],
    ["dead", "dead", "Dead letters"],
    ["overview", "overview", "Overview"],
  ]) {
    await page.locator(`[data-nav="${link}"]`).click();
    await shown(page, view);
    assert.equal(await page.title(), title + " · Sluice");
    assert.equal(await page.locator('[aria-current="page"]').textContent(), title);
  }
});

inBrowser("queues: depth and rates; sorted by what is clicked", {}, async (page) => {
  const view = await visit(page, "queues");
  const orders = row(page, "queues", "orders");
  await until("orders has a backlog", async () => (await figureOf(cell(orders, "waiting"))) > 100);
  await until(
    "orders moves",
    async () => (await figureOf(cell(orders, "in"))) > 0 && (await figureOf(cell(orders, "out"))) > 0,
  );
  assert.equal(await figureOf(cell(row(page, "queues", "emails"), "dead")), 12);
  assert.equal(await figureOf(cell(row(page, "queues", "idle"), "waiting")), 0);
  assert.equal(
    await row(page, "queues", "emails.dlq").count(),
    0,
    "queues of dead letters are no rows of their own",
  );
  // Others come and go with other tests.
  const names = () =>
    view
      .locator('[data-row="orders"], [data-row="webhooks"], [data-row="idle"], [data-row="emails"]')
      .evaluateAll((rows) => rows.map((each) => each.dataset.row));
  await view.locator('[data-sort="name"]').click();
  const up = await names();
  assert.deepEqual(up, [...up].sort());
  assert.equal(await view.locator('th[aria-sort="ascending"]').textContent(), "Queue");
  await view.locator('[data-sort="name"]').click();
  assert.deepEqual(await names(), up.reverse());
  await action(orders, "open").click();
  assert.equal(await (await shown(page, "queue")).getAttribute("data-queue"), "orders");
});

inBrowser("queue: each tenant's share against its weight, live", {}, async (page) => {
  const view = await visit(page, "queue", "#/queue/orders");
  for (const [tenant, weight] of Object.entries(TENANTS)) {
    await row(page, "tenants", tenant).waitFor();
    assert.equal(await figureOf(cell(row(page, "tenants", tenant), "weight")), weight);
  }
  const share = (tenant) =>
    cell(row(page, "tenants", tenant), "share")
      .locator('[role="meter"]')
      .getAttribute("aria-valuenow");
  await until("service is by weight", async () => {
    const [noisy, silver, gold] = await Promise.all(
      ["noisy", "silver", "gold"].map(async (each) => Number(await share(each))),
    );
    return noisy > 5 && silver > 1.4 * noisy && gold > 1.4 * silver;
  });
  const words = await testid(page, "share-chart").getAttribute("aria-label");
  assert.match(words, /gold \d+ % \(by weight \d+ %\)/);
  await until("the chart is drawn", () => isDrawn(testid(page, "share-chart")));
  assert.ok((await figureOf(testid(view, "queue-waiting"))) > 100);
  const summary = testid(view, "keys-summary");
  assert.match(await summary.textContent(), /^[34] tenants have messages here; [34] have waiting messages\.$/);
  await testid(view, "shares").locator('[data-row="gold"]').waitFor();
  await action(view, "find").fill("si");
  await row(page, "tenants", "noisy").waitFor({ state: "detached" });
  assert.equal(await row(page, "tenants", "silver").count(), 1);
  assert.equal(await summary.textContent(), "1 tenant matches.");
  await action(view, "find").fill("");
  await row(page, "tenants", "noisy").waitFor();
  await action(view, "order").selectOption("delivered");
  await row(page, "tenants", "gold").waitFor();
});

/** The first 100 of 120 can go; those that cannot weigh far more. */
async function manyTenants() {
  await createQueue("wide");
  await open.put("/v1/throttles/shut", { rate_per_second: 0, burst: 0 });
  const of = (tenant, weight, more) => ({ payload: "", fairness_key: tenant, weight, ...more });
  const held = Array.from({ length: 20 }, (_, i) => of("held-" + i, 50, { throttle_keys: { shut: 1 } }));
  const free = Array.from({ length: 200 }, (_, i) => of("free-" + (i % 100), 1));
  await enqueue("wide", [...held, ...free]);
  // That one waits for a throttle key is known when its turn has come.
  await until("all are known", async () => {
    await consume("wide", 200, { action: "release" }, open, 500);
    return (await open.get("/v1/queues/wide/fairness-keys?limit=1")).ready_weight === 100;
  });
}

inBrowser("queue: shares by weight among all who can go", { given: manyTenants }, async (page) => {
  const view = await visit(page, "queue", "#/queue/wide");
  await until("1 of 100", async () =>
    /, 1\.0 % by weight|, 1 % by weight/.test(
      (await row(page, "tenants", "free-7").getByRole("meter").getAttribute("aria-valuetext")) ?? "",
    ),
  );
  assert.equal(
    await testid(view, "keys-summary").textContent(),
    "120 tenants have messages here; 120 have waiting messages. The first 100 are shown.",
  );
  await action(view, "find").fill("held-1");
  await until("those that begin so", async () =>
    /^11 tenants match\.$/.test(await testid(view, "keys-summary").textContent()),
  );
  const dues = await page.evaluate(async () => {
    const { Dues } = await import("/console/history.js");
    const dues = new Dues();
    const of = (name, weight, rate, group = "") => ({ name, weight, rate, group });
    const told = [];
    for (let i = 0; i < 40; i++) {
      const quiet = i % 4 === 3 ? [of("quiet", 1, 10)] : [];
      const ready = quiet.length > 0 ? 4 : 3;
      const members = [of("a", 1, 30), of("b", 2, 60), ...quiet, of("c", 5, 20, "p")];
      dues.take(
        members,
        new Map([
          ["", ready],
          ["p", 10],
        ]),
        150,
        40 - 10 * quiet.length,
      );
      told.push([dues.of("a"), dues.of("b"), dues.of("quiet"), dues.of("nobody"), dues.of("c")]);
    }
    return told.slice(Dues.LOOKS);
  });
  const steps = dues.slice(1).map(([a], i) => Math.abs(a - dues[i][0]));
  assert.ok(Math.max(...steps) < 0.01, "it does not jump when somebody comes and goes");
  assert.ok(dues.every(([a, b]) => Math.abs(b - 2 * a) < 1e-9 && a > 0.18 && a < 0.21));
  assert.ok(dues.every(([, , quiet, nobody]) => quiet === null && nobody === null));
  // Of its group 20 are known, and the others that are not listed got about 40: half of all that.
  assert.ok(dues.every(([, , , , c]) => c > 0.18 && c < 0.21));
});

/** Two tenants that wait for one provider, for as long as a test runs. */
async function oneProvider() {
  await createQueue("metered");
  await open.put("/v1/throttles/metered:p", { rate_per_second: 20, burst: 1 });
  const of = (tenant, weight) =>
    Array.from({ length: 1_000 }, () => ({
      payload: "",
      fairness_key: tenant,
      weight,
      throttle_keys: { "metered:p": 1 },
    }));
  await enqueue("metered", [...of("bronze", 1), ...of("gold", 3)]);
}

inBrowser(
  "queue: shares by weight among those who wait for one throttle key",
  { given: oneProvider },
  async (page) => {
    const view = await visit(page, "queue", "#/queue/metered");
    let running = true;
    const service = (async () => {
      while (running) {
        await consume("metered", 10, { action: "ack" }, open, 200);
      }
    })();
    const near = async (tenant, percent) => {
      const bar = testid(view, "shares").locator(`[data-row="${tenant}"] [role="meter"]`);
      await bar.waitFor();
      const [, got, due] =
        /^([\d.]+) %, by weight ([\d.]+) %$/.exec((await bar.getAttribute("aria-valuetext")) ?? "") ?? [];
      const at = await bar.locator(".mark-at").evaluate((it) => !it.hidden && parseFloat(it.style.left));
      return got > 0 && Math.abs(due - percent) < 6 && Math.abs(at - percent) < 6;
    };
    try {
      await until("a quarter and three", async () => (await near("bronze", 25)) && (await near("gold", 75)));
      assert.match(
        await testid(page, "share-chart").getAttribute("aria-label"),
        /gold \d+ % \(by weight \d+ %\)/,
      );
      assert.ok(await testid(view, "dashed").isVisible());
      assert.ok(await testid(view, "marked").isVisible());
    } finally {
      running = false;
      await service;
    }
    const idle = await visit(page, "queue", "#/queue/idle");
    await until("nothing is here", async () =>
      /^0 tenants/.test(await testid(idle, "keys-summary").textContent()),
    );
    assert.ok(await testid(idle, "dashed").isHidden(), "no line, no words of it");
    assert.ok(await testid(idle, "marked").isHidden());
  },
);

inBrowser("figures are written as they are read", {}, async (page) => {
  await visit(page, "queues");
  const written = await page.evaluate(async () => {
    const { left, tokens, within } = await import("/console/format.js");
    return [
      ...[left(0.64, 1), left(0.99, 1), left(4, 5), left(19.9, 20)],
      ...[tokens(1), tokens(0.5), tokens(1200)],
      ...[within(0), within(3)],
    ];
  });
  assert.deepEqual(written, [
    ...["0.6", "0.9", "4", "19"],
    ...["1 token", "0.5 tokens", "1,200 tokens"],
    ...["now", "in 3 ms"],
  ]);
});

inBrowser("queue: who is throttled, by what and until when", {}, async (page) => {
  await visit(page, "queue", "#/queue/webhooks");
  await until("shop-9 waits long", async () =>
    /Throttled by provider:asleep, next in \d+ min/.test(
      await cell(row(page, "tenants", "shop-9"), "state").textContent(),
    ),
  );
  await until("shop-0 waits for the provider", async () =>
    /Throttled by provider:acme, next in \d+ ms/.test(
      await cell(row(page, "tenants", "shop-0"), "state").textContent(),
    ),
  );
});

inBrowser("limits: level, rate, and who waits until when", {}, async (page) => {
  const view = await visit(page, "throttles");
  const acme = row(page, "throttles", "provider:acme");
  await until("tenants wait for it", async () => (await figureOf(cell(acme, "waiting"))) > 0);
  assert.equal(await figureOf(cell(acme, "rate")), 5);
  await until("it holds", async () => (await cell(acme, "holds").textContent()) === "yes");
  await until("about 5 a second are taken", async () => {
    const taken = await figureOf(cell(acme, "taken"));
    return taken > 2 && taken < 8;
  });
  const asleep = row(page, "throttles", "provider:asleep");
  await until("all three wait for it", async () => (await figureOf(cell(asleep, "waiting"))) === 3);
  assert.match(await cell(asleep, "next").textContent(), /min/);
  await action(asleep, "waiters").click();
  const waiters = dialog(page, "waiters");
  await waiters
    .getByText(/messages wait\. The next is granted in .*; at 0\.001\/s the last in about/)
    .waitFor();
  assert.deepEqual((await waiters.locator('[data-cell="key"]').allTextContents()).sort(), [
    "shop-7",
    "shop-8",
    "shop-9",
  ]);
  await action(waiters, "close").click();
  assert.match(await cell(row(page, "limits", "login:alice"), "level").textContent(), /^\d(\.\d)? \/ 3$/);
  assert.equal(await figureOf(cell(row(page, "limits", "search:*"), "rate")), 10);
  await view.getByLabel("Limit to look up").fill("search:u1");
  await action(view, "look-up").click();
  await until("the level of a key under a template", async () =>
    /search:u1 has [\d.]+ of 20 tokens left, 10\/s/.test(await testid(view, "limit-found").textContent()),
  );
});

/** Messages that ask for several tokens, and one that asks for more than there ever are. */
async function severalTokens() {
  await createQueue("costly");
  await open.put("/v1/throttles/costly:p", { rate_per_second: 0.5, burst: 5 });
  const of = (tenant, cost) => ({ payload: "", fairness_key: tenant, throttle_keys: { "costly:p": cost } });
  await enqueue("costly", [of("a", 5), ...Array.from({ length: 40 }, () => of("a", 4)), of("b", 20)]);
  await until("it is known who waits", async () => {
    await consume("costly", 1, { action: "ack" }, open, 500);
    return (await open.get("/v1/throttles/costly:p/waiters")).waiters.length === 2;
  });
}

inBrowser(
  "limits: who waits until when, by tokens, and who for ever",
  { given: severalTokens },
  async (page) => {
    const words = "requests 20, costly:p holds at most 5";
    await visit(page, "throttles");
    const costly = row(page, "throttles", "costly:p");
    await until("somebody never goes", async () =>
      (await cell(costly, "next").textContent()).includes(words),
    );
    await action(costly, "waiters").click();
    const waiters = dialog(page, "waiters");
    // About 160 tokens at 0.5/s.
    await waiters
      .getByText(/^4\d messages wait\. The next is granted .*; at 0\.5\/s the last in about 5 min \d+ s\. /)
      .waitFor();
    await waiters.getByText("1 tenant waits until the limit is changed.").waitFor();
    assert.equal(await cell(row(page, "waiters", "costly\na"), "next").textContent(), "4");
    assert.equal(await cell(row(page, "waiters", "costly\nb"), "next").textContent(), "never: " + words);
    await page.setViewportSize(PHONE);
    await assertFits(page, "who waits");
    await shoot(page, "who waits for ever phone");
    await action(waiters, "close").click();
    await assertFits(page, "limits with words");
    await shoot(page, "limits for ever phone", { fullPage: true });
    await visit(page, "overview");
    await until(
      "it is the first problem",
      async () =>
        (await testid(page, "alerts").locator("li").first().textContent()) ===
        "Problem: A message can never be delivered: it " + words,
    );
    await open.remove("/v1/throttles/costly:p");
  },
);

inBrowser("models: budget, line of each class, and how long it would take", {}, async (page) => {
  const view = await visit(page, "models");
  const slow = view.locator('[data-testid="model"][data-row="slow"]');
  const inLine = (model, priority) => model.locator(`tr[data-row="${priority}"] td`);
  await slow.waitFor();
  assert.match(await slow.locator('[role="meter"]').getAttribute("aria-valuetext"), /of 1,000 tokens/);
  await until("the line is known", async () => (await inLine(slow, "P1_user").first().textContent()) === "2");
  assert.equal(await inLine(slow, "P0_clinical").first().textContent(), "1");
  assert.match(
    await inLine(slow, "P2_batch").last().textContent(),
    /min/,
    "how long a request of this class would wait",
  );
  const busy = view.locator('[data-testid="model"][data-row="busy"]');
  await until("requests come", async () =>
    /[1-9]/.test(await busy.getByText("Requested").locator("xpath=following-sibling::*").textContent()),
  );
  assert.match(
    await busy.getByText("Limit holds").locator("xpath=following-sibling::*").textContent(),
    /^yes/,
  );
  await until("the chart is drawn", () => isDrawn(testid(busy, "model-chart-busy")));
  await slow.getByRole("link", { name: "Tickets of slow" }).click();
  await shown(page, "tickets");
});

inBrowser("tickets: in the order in which they go, page by page", {}, async (page) => {
  const view = await visit(page, "tickets", "#/tickets/slow");
  const rows = testid(view, "tickets").locator("[data-row]");
  await until("four requests wait", async () => (await rows.count()) === 4);
  assert.deepEqual(await rows.locator('[data-cell="priority"]').allTextContents(), [
    "P0_clinical",
    "P1_user",
    "P1_user",
    "P2_batch",
  ]);
  assert.deepEqual(await rows.locator('[data-cell="position"]').allTextContents(), ["1", "2", "3", "4"]);
  assert.match(await rows.first().locator('[data-cell="eta"]').textContent(), /min/);
  await action(view, "model").selectOption("crowded");
  const summary = testid(page, "tickets-summary");
  await until(
    "the first page",
    async () => (await summary.textContent()) === `${CROWD} requests waiting for crowded; 1 to 100.`,
  );
  await action(page, "next").click();
  await until(
    "the second page",
    async () => (await summary.textContent()) === `${CROWD} requests waiting for crowded; 101 to ${CROWD}.`,
  );
  assert.ok(await action(page, "next").isDisabled());
  await action(page, "previous").click();
  await until("the first page again", async () => (await summary.textContent()).endsWith("1 to 100."));
});

inBrowser("tickets: without a free slot the time is unknown", {}, async (page) => {
  await open.post("/v1/governor/requests", { model: "single", tokens: 1, priority: "P1_user" });
  const mine = await ticket("single", 1);
  await visit(page, "tickets", "#/tickets/single");
  const eta = row(page, "tickets", mine).locator('[data-cell="eta"]');
  await until("it says so", async () => (await eta.textContent()) === "unknown: concurrency");
  const view = await visit(page, "models");
  const single = view.locator('[data-testid="model"][data-row="single"]');
  await until(
    "so does its class",
    async () =>
      (await single.locator('tr[data-row="P1_user"] td').last().textContent()) === "unknown: concurrency",
  );
});

inBrowser("dead letters: reason and error; inspect as text and bytes", {}, async (page) => {
  await visit(page, "dead");
  const emails = row(page, "dead-queues", "emails.dlq");
  await emails.waitFor();
  assert.equal(await figureOf(cell(emails, "depth")), 12);
  await action(emails, "open").click();
  const view = await shown(page, "dead-letters");
  const rows = testid(view, "dead-letters").locator("[data-row]");
  await until("all are there", async () => (await rows.count()) === 12);
  assert.equal(await rows.first().locator('[data-cell="error"]').textContent(), "550 mailbox is full");
  assert.equal(await rows.first().locator('[data-cell="reason"]').textContent(), "too many attempts");
  const { messages } = await open.get("/v1/queues/emails.dlq/browse?max_messages=1");
  await action(row(page, "dead-letters", messages[0].id), "inspect").click();
  const message = dialog(page, "message");
  assert.equal(await testid(message, "payload").textContent(), messages[0].payload);
  await message.getByText("Header trace").waitFor();
  const error = await message.getByText("550 mailbox is full").boundingBox();
  assert.ok(error.width > error.height, "it is on one line");
  await action(message, "as-hex").click();
  assert.match(await testid(message, "payload").textContent(), /^000000 {2}7b 22 74 6f 22/);
  await action(message, "close").click();
  await message.waitFor({ state: "detached" });
});

async function largeLetters() {
  await deadLetters(
    "large",
    [
      { payload: "é".repeat(100_000), fairness_key: "t" },
      { payload_base64: Buffer.alloc(70_000, 1).toString("base64"), fairness_key: "t" },
    ],
    "too large",
  );
}

inBrowser("dead letters: large ones are read when they are looked at", { given: largeLetters }, async (page) => {
  const peeks = [];
  page.on("response", async (response) => {
    if (response.url().includes("/browse?")) {
      peeks.push((await response.body()).length);
    }
  });
  const view = await visit(page, "dead-letters", "#/dead/large.dlq");
  const rows = testid(view, "dead-letters").locator("[data-row]");
  await until("both are listed", async () => (await rows.count()) === 2);
  assert.deepEqual(await rows.locator('[data-cell="size"]').allTextContents(), ["195.3 KiB", "68.4 KiB"]);
  assert.ok(peeks[0] < 2_000, "the list has no payloads");
  const message = dialog(page, "message");
  const payload = testid(message, "payload");
  await action(rows.first(), "inspect").click();
  assert.equal(await payload.textContent(), "é".repeat(32_768) + "\n… 131.3 KiB more");
  await action(message, "as-hex").click();
  assert.match(await payload.textContent(), /^000000 {2}c3 a9 [^]*\n… 191\.3 KiB more$/);
  await action(message, "close").click();
  await message.waitFor({ state: "detached" });
  await action(rows.last(), "inspect").click();
  assert.match(await payload.textContent(), /^000000 {2}01 01 [^]*\n… 64\.4 KiB more$/);
  await action(message, "close").click();
  const id = await rows.first().getAttribute("data-row");
  // The next refresh never gets its answer and no other one is under way: the list stays as it is.
  await new Promise((held) => page.route("**/v1/queues", () => held()));
  await open.post("/v1/queues/large.dlq/purge");
  await action(row(page, "dead-letters", id), "inspect").click();
  await testid(page, "toasts").getByText("The message no longer exists.").waitFor();
});
