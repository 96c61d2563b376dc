// A browser, pages of it that tell what went wrong in them, and the servers that they look at.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

function required(name) {
  const value = process.env[name];
  assert.ok(value, name + " must be set; ConsoleTest does");
  return value;
}

export const OPEN = required("SLUICE_OPEN");
export const KEYED = required("SLUICE_KEYED");
export const KEY = required("SLUICE_KEY");
export const LEAVING = required("SLUICE_LEAVING");
export const CONTROL = required("SLUICE_CONTROL");
const SCREENSHOTS = required("SLUICE_SCREENSHOTS");

/** How long something may take that is due at once or with the next second's look. */
const PATIENCE_MS = 60_000;

const DESK = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({
  executablePath: required("SLUICE_CHROMIUM"),
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
export const close = () => browser.close();

export const tests = [];
const made = new Set();

/**
 * A test with a page of its own. Whatever the console complains about, a policy that was violated
 * and a request to anywhere else fail it; `expected` are complaints that belong to it. `given` makes
 * what several tests look at; it runs once.
 */
export function inBrowser(name, { at = OPEN, given = () => {}, expected = [], ...options }, body) {
  const run = async () => {
    if (!made.has(given)) {
      made.add(given);
      await given();
    }
    const context = await browser.newContext({ viewport: DESK, reducedMotion: "reduce", ...options });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    const complaints = [];
    const complain = (words) => {
      if (!expected.some((pattern) => pattern.test(words))) {
        complaints.push(words);
      }
    };
    page.on("pageerror", (error) => complain("uncaught: " + (error.stack ?? error)));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") {
        complain(message.type() + ": " + message.text() + " " + message.location().url);
      }
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(at + "/")) {
        complain("a request to somewhere else: " + request.url());
      }
    });
    page.on("dialog", (dialog) => {
      complain("a dialog of the browser: " + dialog.message());
      dialog.dismiss();
    });
    await page.exposeBinding("reportViolation", (_, words) => complain("policy: " + words));
    await page.addInitScript(() =>
      addEventListener("securitypolicyviolation", (event) =>
        window.reportViolation(event.violatedDirective + " " + event.blockedURI),
      ),
    );
    try {
      await body(page, context);
      assert.deepEqual(complaints, []);
    } catch (failure) {
      await shoot(page, "failed " + name).catch(() => {});
      if (complaints.length > 0) {
        failure.message += "\nthe page complained: " + complaints.join("\n");
      }
      throw failure;
    } finally {
      await context.close();
    }
  };
  tests.push({ name, run });
}

/** Opens a view and waits until it is there. */
export async function visit(page, view, hash = "#/" + view, at = OPEN) {
  await page.goto(at + "/" + hash);
  return shown(page, view);
}

export async function shown(page, view) {
  const element = page.locator(`[data-view="${view}"]`);
  await element.waitFor();
  return element;
}

/** The row of that name, in the table of that id. */
export function row(page, table, name) {
  return page.locator(`[data-testid="${table}"] [data-row="${escaped(name)}"]`);
}

/** As a string of CSS. */
function escaped(text) {
  return text.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\a ");
}

export function action(where, name) {
  return where.locator(`[data-action="${name}"]`);
}

export function dialog(page, id) {
  return page.locator(`dialog[data-dialog="${id}"]`);
}

export function testid(where, id) {
  return where.locator(`[data-testid="${id}"]`);
}

/** Asks until it is so. */
export async function until(what, condition) {
  const end = Date.now() + PATIENCE_MS;
  let last;
  do {
    last = await condition();
    if (last) {
      return last;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  } while (Date.now() < end);
  assert.fail("it did not become true: " + what);
}

export async function shoot(page, name, options = {}) {
  const file = name.replace(/[^A-Za-z0-9]+/g, "-") + ".png";
  await page.screenshot({ path: join(SCREENSHOTS, file), ...options });
}

/** Nothing of the page or of a table is beyond the right edge, once charts have found their size. */
export async function assertFits(page, where) {
  await until(where + " fits its window", () =>
    page.evaluate(() =>
      [document.documentElement, ...document.querySelectorAll(".scroll")].every(
        (each) => each.scrollWidth <= each.clientWidth,
      ),
    ),
  );
}

/** Waits for an answer to the page, and until it is on the screen. */
export async function nextLook(page, path) {
  await page.waitForResponse((response) => response.url().includes(path));
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50))));
}

/**
 * Nothing serious or critical is wrong for those who do not see the page as others do. `rules` are
 * all, but for a page that differs from one that was looked at.
 */
export async function assertAccessible(page, where, rules = null) {
  if (!(await page.evaluate(() => "axe" in window))) {
    await page.evaluate(axe);
  }
  const violations = await page.evaluate(async (only) => {
    const found = await window.axe.run(document, {
      resultTypes: ["violations"],
      ...(only && { runOnly: { type: "rule", values: only } }),
    });
    return found.violations
      .filter((each) => each.impact === "serious" || each.impact === "critical")
      .map(
        (each) =>
          each.id +
          ": " +
          each.help +
          "\n" +
          each.nodes
            .slice(0, 5)
            .map((node) => "  " + node.html + "\n    " + node.failureSummary)
            .join("\n"),
      );
  }, rules);
  assert.equal(violations.length, 0, where + " is not accessible: " + violations.join("\n"));
}

/** The JSON API of a server, as the tests use it; what it refuses is an error. */
export function api(at = OPEN, key = "") {
  const call = async (method, path, body) => {
    const response = await fetch(at + path, {
      method,
      headers: { ...(key ? { Authorization: "Bearer " + key } : {}), "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    const json = text ? JSON.parse(text) : null;
    // 429 is an answer: not now.
    if (!response.ok && response.status !== 429) {
      throw Object.assign(new Error(method + " " + path + ": " + text), { status: response.status });
    }
    return json;
  };
  return {
    get: (path) => call("GET", path),
    post: (path, body = {}) => call("POST", path, body),
    put: (path, body) => call("PUT", path, body),
    patch: (path, body) => call("PATCH", path, body),
    remove: (path) => call("DELETE", path),
    /** The status alone. */
    status: async (path) =>
      call("GET", path).then(
        () => 200,
        (refused) => refused.status,
      ),
  };
}
