import { found, get, path } from "./api.js";
import { color, lines } from "./charts.js";
import { figure, named, standing } from "./columns.js";
import { bar, button, h, heading, name, page, text, tile } from "./dom.js";
import { count, percent, plural, rate, span, within } from "./format.js";
import { Dues, Lines, Rates } from "./history.js";
import { DEAD, gated, listQueues, mayQueue } from "./permissions.js";
import { table } from "./table.js";
import {
  changeQueue,
  deleteQueue,
  isUnserved,
  purgeQueue,
  rateOf,
  takeRates,
  waiting,
} from "./view-queues.js";

const IN_CHART = 6;

/**
 * The reason why a tenant waits, in words, and how bad that is. `gapMs` is the longest time
 * between two turns when all waiting tenants are served by weight.
 */
export function stateOf(row, { limit, gapMs, moving }) {
  if (row.pending === 0) {
    return row.in_flight > 0 ? ["In service", "good"] : ["Idle", ""];
  }
  if (row.throttled.length > 0) {
    const first = row.throttled[0];
    const next =
      first.next_grant_in_ms === undefined
        ? "no time known"
        : "next " + within(first.next_grant_in_ms);
    return ["Throttled by " + first.throttle_key + ", " + next, "warn"];
  }
  if (limit > 0 && row.in_flight >= limit) {
    return ["All " + limit + " slots in use", "warn"];
  }
  if (moving && row.waited_ms > 5_000 + 3 * gapMs) {
    return ["Starved for " + span(row.waited_ms), "bad"];
  }
  return moving
    ? ["In service", "good"]
    : ["Waits for a consumer", row.waited_ms > 5_000 ? "warn" : ""];
}

/** The group of the tenants that can be served. */
const READY = "";

/** The group in which a tenant shares by weight; null if none of its messages wait. */
function groupOf({ pending, throttled }) {
  return pending > throttled.reduce((sum, each) => sum + each.messages, 0)
    ? READY
    : pending > 0
      ? "at " + throttled[0].throttle_key
      : null;
}

/** The weight of each group with a listed tenant, and of the tenants that can be served. */
function weightsOf({ fairness_keys: keys, ready_weight: ready }) {
  return new Map([
    [READY, ready],
    ...keys.flatMap(({ throttled }) =>
      throttled.map((each) => ["at " + each.throttle_key, each.weight]),
    ),
  ]);
}

/** Describes how many tenants match the filter, in words. */
function summaryOf({ active, waiting: some, matching, fairness_keys: keys }, prefix) {
  const words = prefix
    ? plural(matching, "tenant") + (matching === 1 ? " matches." : " match.")
    : plural(active, "tenant") +
      (active === 1 ? " has" : " have") +
      " messages here; " +
      count(some) +
      (some === 1 ? " has" : " have") +
      " waiting messages.";
  return words + (keys.length < matching ? " The first " + count(keys.length) + " are shown." : "");
}

export function view(queue) {
  const rates = new Rates();
  const dues = new Dues();
  const history = new Lines();
  const colors = new Map();
  let settings = { order: "depth", limit: 100, prefix: "" };

  const tiles = {
    waiting: tile("Waiting", "queue-waiting"),
    flight: tile("In flight", "queue-flight"),
    delayed: tile("Delayed", "queue-delayed"),
    in: tile("In", "queue-in"),
    out: tile("Out", "queue-out"),
    consumers: tile("Consumers", "queue-consumers"),
  };
  const chart = lines(
    "share-chart",
    "Share of service by tenant over the last two minutes; dashed: by weight",
    {
      percent: true,
      height: 260,
    },
  );
  const dashed = h(
    "span",
    { "data-testid": "dashed", hidden: true },
    "Dashed: the tenant's fair share by weight, among tenants that can be served or that wait for the same throttle key.",
  );
  const marked = h(
    "p",
    { class: "muted", "data-testid": "marked", hidden: true },
    "The line marks the share by weight.",
  );
  const unknown = h("li", { "data-tone": "warn", "data-testid": "unknown-throttles" });
  const notes = h("ul", { class: "notes card", hidden: true }, unknown);
  const bars = h("ol", { class: "shares", "data-testid": "shares" });
  const summary = h("p", { class: "muted", "data-testid": "keys-summary" });
  const total = { rate: 0 };
  const share = (row) => (total.rate > 0 ? (row.rate ?? 0) / total.rate : 0);
  const fair = (row) => dues.of(row.fairness_key);
  const list = table({
    id: "tenants",
    label: "Tenants of " + queue,
    key: (row) => row.fairness_key,
    empty: "No tenants with messages, now or recently.",
    sorted: { id: "pending", down: true },
    columns: [
      named("key", "Tenant", (row) => row.fairness_key),
      figure("weight", "Weight", (row) => row.weight),
      {
        id: "share",
        label: "Share",
        sort: share,
        cell: (td, row) => {
          if (!td.firstChild) {
            td.append(bar("Share of " + row.fairness_key), h("span", { class: "beside" }));
          }
          const at = fair(row);
          const words =
            percent(share(row)) + (at === null ? "" : " of service, " + percent(at) + " by weight");
          td.firstChild.set(share(row), words, { at });
          text(td.lastChild, percent(share(row)));
        },
      },
      figure("pending", "Waiting", (row) => row.pending),
      figure("flight", "In flight", (row) => row.in_flight, count, { low: true }),
      figure("out", "Out", (row) => row.rate, rate, { low: true }),
      {
        id: "waited",
        label: "Without service",
        numeric: true,
        sort: (row) => row.waited_ms,
        value: (row) => (row.pending > 0 ? span(row.waited_ms) : "–"),
      },
      standing("state", "State", (row) => row.state, { alone: true }),
    ],
  });

  const choose = (id, label, options, chosen) =>
    h(
      "label",
      { class: "choice" },
      label + " ",
      h(
        "select",
        {
          "data-action": id,
          onchange: (event) => {
            settings = { ...settings, ...chosen(event.target.value) };
            refresh();
          },
        },
        options.map(([value, words]) => h("option", { value }, words)),
      ),
    );
  let refresh = () => {};
  const find = h("input", {
    type: "search",
    "data-action": "find",
    placeholder: "Tenant begins with …",
    "aria-label": "Tenant begins with",
    spellcheck: "false",
    oninput: (event) => {
      settings = { ...settings, prefix: event.target.value };
      refresh();
    },
  });
  const element = page(
    { "data-view": "queue", "data-queue": queue },
    { href: "#/queues", label: "Queues", of: "queues" },
    heading(
      1,
      name(queue),
      queue.endsWith(DEAD)
        ? null
        : h(
            "a",
            {
              class: "button",
              href: "#/dead/" + encodeURIComponent(queue + DEAD),
              "data-action": "dead",
            },
            "Dead letters",
          ),
      gated(
        button("Settings", "change", () => changeQueue(queue)),
        () => mayQueue("admin", queue),
      ),
      gated(
        button("Purge", "purge", () => purgeQueue(queue)),
        () => mayQueue("admin", queue),
      ),
      gated(
        button("Delete", "delete", () => deleteQueue(queue), { class: "danger" }),
        () => mayQueue("admin", queue),
      ),
    ),
    h("dl", { class: "tiles" }, Object.values(tiles)),
    notes,
    h(
      "div",
      { class: "columns" },
      h(
        "div",
        { class: "card grow" },
        h("h2", {}, "Share of service"),
        h("p", { class: "muted" }, "Solid: each tenant's share of service. ", dashed),
        chart,
      ),
      h("div", { class: "card side" }, h("h2", {}, "Right now"), marked, bars),
    ),
    h(
      "div",
      { class: "card" },
      h(
        "div",
        { class: "heading" },
        h("h2", {}, "Tenants"),
        h(
          "div",
          { class: "actions" },
          find,
          choose(
            "order",
            "First",
            [
              ["depth", "most messages"],
              ["wait", "longest without service"],
              ["delivered", "most delivered"],
            ],
            (order) => ({ order }),
          ),
          choose(
            "limit",
            "Show",
            [
              ["100", "100"],
              ["1000", "1,000"],
              ["10000", "10,000"],
            ],
            (limit) => ({ limit: Number(limit) }),
          ),
        ),
      ),
      summary,
      list,
    ),
  );

  function paintBars(rows) {
    const first = rows.filter((row) => row.pending > 0 || row.rate > 0);
    const known = new Map([...bars.children].map((each) => [each.dataset.row, each]));
    bars.replaceChildren(
      ...first.map((row) => {
        const item =
          known.get(row.fairness_key) ??
          h(
            "li",
            { "data-row": row.fairness_key },
            h("span", { class: "swatch" }),
            name(row.fairness_key),
            h("span", { class: "figure" }),
            bar("Share of " + row.fairness_key),
          );
        item.children[0].style.background = "var(" + color(colorOf(row.fairness_key)) + ")";
        text(item.children[2], percent(share(row)) + " · " + rate(row.rate));
        const at = fair(row);
        item.children[3].set(
          share(row),
          percent(share(row)) + (at === null ? "" : ", by weight " + percent(at)),
          { at },
        );
        item.children[3].firstChild.style.background = "var(" + color(colorOf(row.fairness_key)) + ")";
        return item;
      }),
    );
    marked.hidden = first.every((row) => fair(row) === null);
    if (first.length === 0) {
      bars.append(h("li", { class: "empty" }, "No tenant is being served."));
    }
  }

  function colorOf(tenant) {
    if (!colors.has(tenant)) {
      colors.set(tenant, colors.size);
    }
    return colors.get(tenant);
  }

  function paintChart(chosen, now) {
    const moving = total.rate > 0;
    history.push(
      now,
      chosen.flatMap((row) => [
        ["s" + row.fairness_key, moving && row.rate !== null ? share(row) * 100 : null],
        ["w" + row.fairness_key, fair(row) === null ? null : fair(row) * 100],
      ]),
    );
    const shown = chosen.filter((row) =>
      history.values.get("s" + row.fairness_key)?.some((each) => each !== null),
    );
    dashed.hidden = !shown.some((row) =>
      history.values.get("w" + row.fairness_key)?.some((each) => each !== null),
    );
    chart.set(
      history.times,
      shown.flatMap((row) => [
        {
          label: row.fairness_key,
          values: history.values.get("s" + row.fairness_key) ?? [],
          color: colorOf(row.fairness_key),
        },
        {
          label: row.fairness_key,
          values: history.values.get("w" + row.fairness_key) ?? [],
          color: colorOf(row.fairness_key),
          dashed: true,
          unnamed: true,
        },
      ]),
      shown
        .map(
          (row) =>
            row.fairness_key +
            " " +
            percent(share(row)) +
            (fair(row) === null ? "" : " (by weight " + percent(fair(row)) + ")"),
        )
        .join(", "),
    );
  }

  return {
    element,
    title: queue,
    onRefresh(then) {
      refresh = then;
    },
    async tick(now) {
      const { order, limit, prefix } = settings;
      const [queues, tenants] = await Promise.all([
        listQueues(),
        found(element, () =>
          get(
            path`/v1/queues/${queue}/fairness-keys?order=${order}&limit=${limit}&prefix=${prefix}`,
          ),
        ),
      ]);
      if (!tenants) {
        return;
      }
      takeRates(queues, now);
      const own = queues.find((each) => each.name === queue);
      if (own) {
        tiles.waiting.set(count(waiting(own)));
        tiles.flight.set(count(own.in_flight));
        tiles.delayed.set(count(own.delayed));
        tiles.in.set(rate(rateOf(queue, "in")));
        tiles.out.set(rate(rateOf(queue, "out")));
        tiles.consumers.set(
          count(own.consumers),
          isUnserved(own)
            ? "no consumer"
            : own.consumers === 0 && rateOf(queue, "out") > 0
              ? "calls to receive"
              : "",
          isUnserved(own) ? "warn" : "",
        );
        notes.hidden = own.unknown_throttle_keys === 0;
        text(
          unknown,
          plural(own.unknown_throttle_keys, "message") +
            " named a throttle key that has no limit, such as " +
            own.last_unknown_throttle_key +
            ". Such a key limits nothing; is it misspelled?",
        );
      }
      rates.take(
        tenants.fairness_keys.map((each) => [each.fairness_key, each.delivered]),
        now,
      );
      total.rate = rateOf(queue, "out") ?? 0;
      const moving = total.rate > 0;
      const rows = tenants.fairness_keys.map((each) => {
        const gapMs = moving ? (tenants.ready_weight / each.weight / total.rate) * 1_000 : 0;
        return {
          ...each,
          rate: rates.of(each.fairness_key),
          state: stateOf(each, { limit: tenants.max_in_flight_per_key, gapMs, moving }),
        };
      });
      // Tenants are counted after the queue: their sum must not exceed its total.
      const listed = rows.reduce((sum, row) => sum + (row.rate ?? 0), 0);
      total.rate = Math.max(total.rate, listed);
      const members = rows
        .map((row) => ({
          name: row.fairness_key,
          group: groupOf(row),
          weight: row.weight,
          rate: row.rate ?? 0,
        }))
        .filter(({ group }) => group !== null);
      // The first refresh has no rates.
      const known = rows.some((row) => row.rate !== null) ? total.rate : 0;
      dues.take(members, weightsOf(tenants), known, Math.max(0, known - listed));
      text(summary, summaryOf(tenants, settings.prefix));
      list.set(rows);
      const first = [...rows]
        .sort((a, b) => (b.rate ?? 0) - (a.rate ?? 0) || b.pending - a.pending)
        .slice(0, IN_CHART);
      paintBars(first);
      paintChart(first, now);
    },
    destroy() {
      chart.destroy();
    },
  };
}
