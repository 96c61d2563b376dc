// The tests of one part, in one browser. BrowserSuite starts it and reports each.
import { test } from "node:test";
import { close, tests } from "./harness.mjs";
import { start } from "./live.mjs";

/**
 * By part: files one after the other; those of one line beside those of another, which they do not disturb.
 */
const PARTS = {
  views: [
    ["access", "views"], // screenshots before what fills them with other things
    ["refusals", "keys", "actions", "hostile"],
  ],
  speed: [["speed"]],
};
const LINES = PARTS[process.env.SLUICE_PART];

const wanted = new RegExp(process.env.SLUICE_TESTS ?? "", "i");

async function testsOf(file) {
  await import("./" + file + ".mjs");
  return tests.splice(0).filter((each) => wanted.test(each.name));
}

async function inTurn(suite, files) {
  for (const file of files) {
    for (const { name, run } of await testsOf(file)) {
      await suite.test(name, { timeout: 90_000 }, run);
    }
  }
}

test("console", { concurrency: LINES.length }, async (suite) => {
  const stop = await start();
  try {
    await Promise.all(LINES.map((files) => inTurn(suite, files)));
  } finally {
    await stop();
    await close();
  }
});
