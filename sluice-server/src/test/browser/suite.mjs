// The tests of one part, in one browser. BrowserSuite starts it and reports each.
import { test } from "node:test";
import { close, tests } from "./harness.mjs";
import { start } from "./live.mjs";

/**
 * By part: files one after the other; those of one line beside those of another, which they do not disturb. Tests wait
 * for the next look of a page most of the time, so that three lines take little longer than one.
 */
const PARTS = {
  views: [
    ["access", "hostile"], // screenshots before what fills them with other things
    ["views", "actions"],
    ["keys", "refusals"],
  ],
  speed: [["speed"]],
};
const LINES = PARTS[process.env.SLUICE_PART];

const wanted = new RegExp(process.env.SLUICE_TESTS ?? "", "i");

/** Files put their tests into one list: they are read one after the other. */
async function testsByFile() {
  const found = new Map();
  for (const file of LINES.flat()) {
    await import("./" + file + ".mjs");
    found.set(
      file,
      tests.splice(0).filter((each) => wanted.test(each.name)),
    );
  }
  return found;
}

async function inTurn(suite, line) {
  for (const { name, run } of line) {
    await suite.test(name, { timeout: 180_000 }, run);
  }
}

const found = await testsByFile();

test("console", { concurrency: LINES.length }, async (suite) => {
  const stop = await start();
  try {
    await Promise.all(LINES.map((files) => inTurn(suite, files.flatMap((file) => found.get(file)))));
  } finally {
    await stop();
    await close();
  }
});
