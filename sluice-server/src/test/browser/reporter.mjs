// One line of JSON for each test, for ConsoleTest.
import { inspect } from "node:util";

export default async function* report(events) {
  for await (const { type, data } of events) {
    const error = data.details?.error;
    const isTest = data.nesting === 1 || error?.failureType === "testCodeFailure";
    if ((type !== "test:pass" && type !== "test:fail") || !isTest) {
      continue;
    }
    const skipped = data.skip !== undefined || data.todo !== undefined;
    yield JSON.stringify({
      name: data.name,
      millis: Math.round(data.details.duration_ms),
      passed: type === "test:pass" && !skipped,
      error: skipped ? "it was skipped" : error ? inspect(error.cause ?? error) : "",
    }) + "\n";
  }
}
