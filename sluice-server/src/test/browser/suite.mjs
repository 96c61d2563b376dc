// All tests, one after the other, in one browser. ConsoleTest starts the servers and reports each.
import { test } from "node:test";
import { close, tests } from "./harness.mjs";
import { start } from "./live.mjs";
import "./views.mjs";
import "./access.mjs"; // before what fills the screenshots with other things
import "./actions.mjs";
import "./refusals.mjs";
import "./keys.mjs";
import "./hostile.mjs";
import "./speed.mjs";

const wanted = new RegExp(process.env.SLUICE_TESTS ?? "", "i");

test("console", async (suite) => {
  const stop = await start();
  try {
    for (const { name, run } of tests.filter((each) => wanted.test(each.name))) {
      await suite.test(name, { timeout: 90_000 }, run);
    }
  } finally {
    await stop();
    await close();
  }
});
