import { allowed, get, key, none, path } from "./api.js";
import { lines } from "./charts.js";
import { figure } from "./columns.js";
import { bar, children, h, name, text, tile } from "./dom.js";
import { count, left as leftOf, number, plural, rate, tokens, within } from "./format.js";
import { Lines } from "./history.js";
import { listQueues, mayAll, maySome } from "./permissions.js";
import { table } from "./table.js";
import { troubles, waitingOf } from "./view-models.js";
import { stateOf } from "./view-queue.js";
import {
  flows,
  isUnserved,
  queueName,
  rateOf,
  takeRates,
  waiting,
  withDeadLetters,
} from "./view-queues.js";
import { tooLarge, watched } from "./view-throttles.js";

const BUSIEST = 5;
const history = new Lines();

function sum(all, of) {
  return all.reduce((total, each) => total + of(each), 0);
}

/** A sum over all that are seen; of none that a key may see nothing is known. */
function total(seen, of) {
  return seen.length === 0 && key() ? "–" : count(sum(seen, of));
}

/** Null before anything is known. */
function rates(queues, which) {
  const known = queues.map((each) => rateOf(each.name, which)).filter((each) => each !== null);
  return known.length > 0 ? sum(known, (each) => each) : null;
}

export function view() {
  const tiles = {
    waiting: tile("Messages waiting", "total-waiting"),
    flight: tile("In flight", "total-flight"),
    in: tile("In", "total-in"),
    out: tile("Out", "total-out"),
    throttled: tile("Tenants throttled", "total-throttled"),
    line: tile("Waiting requests", "total-line"),
    dead: tile("Dead letters", "total-dead"),
    holds: tile("Limits that hold", "limits-hold"),
  };
  const chart = lines("rate-chart", "Messages in and out per second over the last two minutes", {
    unit: "/s",
    height: 240,
  });
  const notes = h("ul", { class: "alerts", "data-testid": "alerts" });
  let seen = new Map();
  const busiest = table({
    id: "busiest",
    label: "Busiest queues",
    key: (row) => row.name,
    empty: none("There are no queues yet"),
    columns: [queueName(), figure("waiting", "Waiting", waiting), ...flows()],
  });
  const levels = h("ul", { class: "shares", "data-testid": "levels" });
  const level = new Map();

  /** Budgets and throttle keys, those with least left first. */
  function paintLevels(models, throttles) {
    const all = [
      ...models.map(([model, status]) => ({
        id: "m" + model,
        name: model,
        part: status.available / status.capacity,
        words: tokens(status.available),
      })),
      ...throttles.map((each) => ({
        id: "t" + each.key,
        name: each.key,
        part: each.burst > 0 ? each.level / each.burst : 0,
        words: leftOf(each.level, each.burst) + " of " + number(each.burst),
      })),
    ];
    all.sort((a, b) => a.part - b.part);
    children(
      levels,
      all.slice(0, BUSIEST).map((each) => {
        if (!level.has(each.id)) {
          level.set(
            each.id,
            h(
              "li",
              {},
              name(each.name),
              h("span", { class: "figure" }),
              bar("Tokens left of " + each.name),
            ),
          );
        }
        const item = level.get(each.id);
        text(item.children[1], each.words);
        item.children[2].set(each.part, each.words, { tone: each.part < 0.1 ? "warn" : "good" });
        return item;
      }),
    );
    if (all.length === 0) {
      levels.replaceChildren(h("li", { class: "empty" }, none("There are no budgets and no throttle keys")));
    }
  }

  const element = h(
    "section",
    { "data-view": "overview" },
    h("h1", {}, "Overview"),
    h("dl", { class: "tiles" }, Object.values(tiles)),
    h(
      "div",
      { class: "columns" },
      h("div", { class: "card grow" }, h("h2", {}, "Flow"), chart),
      h("div", { class: "card side" }, h("h2", {}, "Needs attention"), notes),
    ),
    h(
      "div",
      { class: "columns" },
      h("div", { class: "card grow" }, h("h2", {}, "Busiest queues"), busiest),
      h("div", { class: "card side" }, h("h2", {}, "Tokens left"), levels),
    ),
  );

  /** Keeps existing elements, so that focus is not lost. */
  function paintNotes(all) {
    const before = seen;
    seen = new Map();
    for (const each of all) {
      const id = (each.href ?? "") + "\n" + each.text;
      seen.set(id, before.get(id) ?? note(each));
    }
    children(notes, seen.values());
  }

  function note({ tone, text: words, href }) {
    const label = tone === "bad" ? "Problem: " : tone === "warn" ? "Note: " : "";
    const body = href ? h("a", { href }, words) : words;
    return h("li", { "data-tone": tone }, h("span", { class: "hidden" }, label), body);
  }

  /** Tenants that get nothing though others do, in the queues with most pending messages. */
  async function starved(queues) {
    const first = [...queues]
      .filter((each) => waiting(each) > 0 && !isUnserved(each))
      .sort((a, b) => waiting(b) - waiting(a))
      .slice(0, BUSIEST);
    const found = await Promise.all(
      first.map(async (queue) => {
        const keys = await allowed(
          get(path`/v1/queues/${queue.name}/fairness-keys` + "?order=wait&limit=10"),
        );
        const out = rateOf(queue.name, "out") ?? 0;
        return (keys?.fairness_keys ?? [])
          .filter((row) => {
            const gapMs = out > 0 ? (keys.ready_weight / row.weight / out) * 1_000 : 0;
            return (
              stateOf(row, { limit: keys.max_in_flight_per_key, gapMs, moving: out > 0 })[1] ===
              "bad"
            );
          })
          .slice(0, 3)
          .map((row) => ({
            tone: "bad",
            text: row.fairness_key + " gets nothing in " + queue.name + " though others do",
            href: "#/queue/" + encodeURIComponent(queue.name),
          }));
      }),
    );
    return found.flat();
  }

  function throttled(throttles) {
    return throttles
      .filter((each) => each.waiters > 0)
      .slice(0, BUSIEST)
      .map((each) => ({
        tone: "warn",
        text:
          plural(each.waiters, "tenant") +
          " held by " +
          each.key +
          " at " +
          rate(each.rate_per_second) +
          (each.next_grant_in_ms === undefined
            ? ""
            : each.next_grant_in_ms > 2_000
              ? ", next " + within(each.next_grant_in_ms)
              : ""),
        href: "#/throttles",
      }));
  }

  /** Messages that wait until a limit is changed; a rate of 0 is a deliberate pause. */
  function stuck(throttles) {
    return throttles
      .filter((each) => each.rate_per_second > 0 && tooLarge(each.impossible_cost, each) !== null)
      .slice(0, BUSIEST)
      .map((each) => ({
        tone: "bad",
        text: "A message can never be delivered: it " + tooLarge(each.impossible_cost, each),
        href: "#/throttles",
      }));
  }

  function unserved(queues) {
    return queues
      .filter(isUnserved)
      .slice(0, BUSIEST)
      .map((each) => ({
        tone: "warn",
        text: "No consumer receives messages from " + each.name,
        href: "#/queue/" + encodeURIComponent(each.name),
      }));
  }

  function misspelled(queues) {
    return queues
      .filter((each) => each.unknown_throttle_keys > 0)
      .slice(0, BUSIEST)
      .map((each) => ({
        tone: "warn",
        text:
          "Messages of " +
          each.name +
          " named the throttle key " +
          each.last_unknown_throttle_key +
          ", which has no limit",
        href: "#/queue/" + encodeURIComponent(each.name),
      }));
  }

  function exceeded(throttles) {
    return throttles
      .filter((each) => each.excess > 0)
      .map((each) => ({
        tone: "bad",
        text: each.key + " granted " + tokens(each.excess) + " above its limit",
        href: "#/throttles",
      }));
  }

  return {
    element,
    title: "Overview",
    async tick(now) {
      const reads = maySome("read");
      const [all, keys, { buckets }, ready] = await Promise.all([
        // A key that may only use models sees these.
        reads || !maySome("governor") ? listQueues() : [],
        allowed(get("/v1/throttles?limit=1000")),
        get("/v1/governor/status"),
        get("/readyz").then(
          ({ degraded = [] }) =>
            degraded.length ? "Degraded: " + degraded.join(", ") + "; the log says why" : "",
          (refused) =>
            refused.status === 0 ? Promise.reject(refused) : "Not ready: " + refused.message,
        ),
      ]);
      takeRates(all, now);
      const queues = withDeadLetters(all);
      const throttles = keys ? watched(keys) : [];
      const models = Object.entries(buckets);
      const entered = rates(queues, "in");
      const left = rates(queues, "out");
      const withDead = queues.filter((each) => each.dead !== null);
      const dead = sum(withDead, (each) => each.dead);
      const held = sum(throttles, (each) => each.waiters);
      const audited = models.filter(([, status]) => status.audit.limitTokens > 0);
      const bounded = throttles.filter((each) => each.excess !== null);
      const broken =
        bounded.filter((each) => each.excess > 0).length +
        audited.filter(([, status]) => status.audit.errorTokens > 0).length;
      const checked = bounded.length + audited.length;
      tiles.waiting.set(total(queues, waiting), plural(queues.length, "queue"));
      tiles.flight.set(
        total(queues, (each) => each.in_flight),
        plural(
          sum(queues, (each) => each.consumers),
          "consumer",
        ),
      );
      tiles.in.set(rate(entered));
      tiles.out.set(rate(left));
      tiles.throttled.set(
        keys ? total(throttles, (each) => each.waiters) : "–",
        keys ? plural(keys.total, "throttle key") : "needs read",
        held > 0 ? "warn" : "",
      );
      tiles.line.set(
        total(models, ([, status]) => waitingOf(status)),
        plural(models.length, "model"),
      );
      tiles.dead.set(
        total(withDead, (each) => each.dead),
        withDead.length < queues.length
          ? "of " + withDead.length + " of " + plural(queues.length, "queue")
          : "",
        dead > 0 ? "warn" : "",
      );
      tiles.holds.set(
        checked === 0 ? "–" : count(checked - broken) + " of " + count(checked),
        checked === 0 ? "nothing to check yet" : broken === 0 ? "none exceeded" : "see below",
        broken > 0 ? "bad" : checked > 0 ? "good" : "",
      );
      busiest.set(
        [...queues]
          .sort((a, b) => waiting(b) - waiting(a) || (a.name < b.name ? -1 : 1))
          .slice(0, BUSIEST),
      );
      paintLevels(models, throttles);
      history.push(now, [
        ["in", entered],
        ["out", left],
      ]);
      chart.set(
        history.times,
        [
          { label: "in", values: history.values.get("in") },
          { label: "out", values: history.values.get("out") },
        ],
        "In " + rate(entered) + ", out " + rate(left),
      );
      const found = [
        ...(ready ? [{ tone: "bad", text: ready }] : []),
        ...stuck(throttles),
        ...exceeded(throttles),
        ...(await starved(queues)),
        ...models.flatMap(([model, status]) =>
          troubles(model, status).map((each) => ({ ...each, href: "#/models" })),
        ),
        ...throttled(throttles),
        ...unserved(queues),
        ...misspelled(queues),
        ...(dead > 0
          ? [{ tone: "warn", text: plural(dead, "dead letter") + " to review", href: "#/dead" }]
          : []),
      ];
      paintNotes(
        found.length > 0
          ? found
          : [
              {
                tone: "good",
                text: mayAll("read")
                  ? "No problems: no tenant is starved, and no limit is exceeded."
                  : "No problems that this key may see.",
              },
            ],
      );
    },
    destroy() {
      chart.destroy();
    },
  };
}
