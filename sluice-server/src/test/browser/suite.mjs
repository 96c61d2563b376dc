// All tests, in one browser. ConsoleTest starts the servers and reports each.
import { test } from "node:test";
import { close, tests } from "./harness.mjs";
import { start } from "./live.mjs";

/** Files one after the other; those of one line beside those of another, which they do not disturb. */
const LINES = [
  ["access", "views"], // screenshots before what fills them with other things
  ["refusals", "keys", "actions", "hostile"],
];

/** When nobody else needs the machine. */
const ALONE = ["speed"];

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
    await inTurn(suite, ALONE);
  } finally {
    await stop();
    await close();
  }
});
