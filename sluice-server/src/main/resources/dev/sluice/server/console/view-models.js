import { allowed, get, none, path, post } from "./api.js";
import { lines } from "./charts.js";
import { ask, toast } from "./dialogs.js";
import { bar, button, h, heading, name, text } from "./dom.js";
import { count, number, plural, rate, tokens, turn } from "./format.js";
import { Lines, Rates } from "./history.js";
import { gated, mayAll } from "./permissions.js";

const rates = new Rates();

async function reload() {
  let without = [];
  const done = await ask({
    id: "reload",
    title: "Reload the budgets?",
    message: "The budget file is read again. Budget levels, waiting lists and reservations stay.",
    confirm: "Reload",
    act: async () => {
      without = (await post("/v1/governor/reload")).ignoredKeys;
    },
  });
  if (done) {
    toast(
      without.length === 0
        ? "The budgets are reloaded."
        : "Reloaded. Without effect: " + without.join(", "),
    );
  }
}

/** Notable conditions of a model, also for the overview. */
export function troubles(model, status) {
  const found = status.alerts.map((each) => ({ tone: "warn", text: model + ": " + each.advice }));
  if (status.audit.errorTokens > 0) {
    found.push({
      tone: "bad",
      text:
        model +
        ": " +
        tokens(status.audit.errorTokens) +
        " admitted beyond the limit",
    });
  }
  if (status.provider.factor < 1) {
    found.push({
      tone: "warn",
      text:
        model +
        ": the provider limits it to " +
        Math.round(status.provider.factor * 100) +
        " % of its rate",
    });
  }
  return found;
}

export function waitingOf(status) {
  return Object.values(status.queueLengths).reduce((sum, each) => sum + each, 0);
}

function card(model) {
  const level = bar("Budget of " + model);
  const levelWords = h("span", { class: "beside" });
  const facts = h("dl", { class: "facts" });
  const fact = (label) => {
    const value = h("dd", {}, "–");
    facts.append(h("div", {}, h("dt", {}, label), value));
    return value;
  };
  const shown = {
    rate: fact("Rate"),
    running: fact("Running"),
    requested: fact("Requested"),
    granted: fact("Granted at once"),
    consumed: fact("Tokens used"),
    audit: fact("Limit holds"),
    provider: fact("Provider"),
  };
  const classes = h("tbody");
  const classTable = h(
    "table",
    { class: "small-table" },
    h("caption", { class: "hidden" }, "Waiting list of " + model + " by class"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "Class"),
        h("th", { scope: "col", class: "number" }, "Waiting"),
        h("th", { scope: "col", class: "number" }, "Last granted in"),
      ),
    ),
    classes,
  );
  const chart = lines(
    "model-chart-" + model,
    "Tokens available to " + model + " and waiting requests",
    {
      percent: true,
      right: "waiting",
      height: 200,
    },
  );
  const notes = h("ul", { class: "notes" });
  const history = new Lines();
  const element = h(
    "article",
    { class: "card", "data-row": model, "data-testid": "model" },
    heading(
      2,
      name(model),
      h(
        "a",
        {
          class: "button",
          href: "#/tickets/" + encodeURIComponent(model),
          "aria-label": "Tickets of " + model,
        },
        "Tickets",
      ),
    ),
    h("div", { class: "level" }, level, levelWords),
    notes,
    h(
      "div",
      { class: "columns" },
      h("div", { class: "grow" }, chart),
      h("div", { class: "side" }, classTable),
    ),
    facts,
  );
  element.destroy = () => chart.destroy();
  element.set = (status, queue, now) => {
    const part = status.available / status.capacity;
    level.set(part, number(status.available) + " of " + tokens(status.capacity), {
      tone: part < 0.1 ? "warn" : "good",
    });
    text(levelWords, count(status.available) + " of " + tokens(status.capacity));
    text(shown.rate, tokens(status.targetTPM) + "/min");
    text(shown.running, count(status.running));
    text(shown.requested, rate(rates.of(model + "\nrequested")));
    const { totalRequests, acceptedRequests } = status.metrics;
    text(shown.granted, count(acceptedRequests) + " of " + count(totalRequests));
    text(shown.consumed, count(status.metrics.tokensConsumed));
    text(
      shown.audit,
      status.audit.errorTokens > 0
        ? "no, by " + count(status.audit.errorTokens)
        : "yes, worst minute " +
            count(status.audit.worstTokens) +
            " of " +
            count(status.audit.limitTokens),
    );
    shown.audit.dataset.tone = status.audit.errorTokens > 0 ? "bad" : "good";
    text(
      shown.provider,
      status.provider.factor < 1
        ? Math.round(status.provider.factor * 100) + " % of the rate"
        : "no objection",
    );
    const found = troubles(model, status);
    notes.replaceChildren(...found.map((each) => h("li", { "data-tone": each.tone }, each.text)));
    classes.replaceChildren(
      ...Object.entries(status.queueLengths).map(([each, size]) => {
        const last = size === 0 ? undefined : queue?.binding?.[each];
        return h(
          "tr",
          { "data-row": each },
          h("th", { scope: "row" }, name(each)),
          h("td", { class: "number" }, count(size)),
          h("td", { class: "number" }, last === undefined ? "–" : turn(queue.etaMs[each], last)),
        );
      }),
    );
    const waiting = waitingOf(status);
    history.push(now, [
      ["available", Math.max(0, (status.available / status.capacity) * 100)],
      ["waiting", waiting],
    ]);
    chart.set(
      history.times,
      [
        { label: "budget left", values: history.values.get("available") },
        { label: "waiting", values: history.values.get("waiting"), right: true },
      ],
      Math.round(part * 100) + " % of the budget left, " + plural(waiting, "request") + " waiting",
    );
  };
  return element;
}

export function view() {
  const cards = new Map();
  const list = h("div", { class: "stack" });
  const empty = h(
    "p",
    { class: "card empty", "data-testid": "models-empty", hidden: true },
    none("No models are configured"),
    " Write a budget file with ",
    h("code", {}, "sluice governor init"),
    ", and name it in ",
    h("code", {}, "governor.file"),
    ".",
  );
  const element = h(
    "section",
    { "data-view": "models" },
    heading(1, "Models", gated(button("Reload budgets", "reload", reload), () => mayAll("admin"))),
    empty,
    list,
  );
  return {
    element,
    title: "Models",
    async tick(now) {
      const { buckets } = await get("/v1/governor/status");
      const models = Object.entries(buckets);
      const queues = new Map(
        await Promise.all(
          models
            .slice(0, 20)
            .map(async ([model]) => [
              model,
              await allowed(get(path`/v1/governor/models/${model}/waiting-list` + "?limit=1")),
            ]),
        ),
      );
      rates.take(
        models.map(([model, status]) => [model + "\nrequested", status.metrics.totalRequests]),
        now,
      );
      empty.hidden = models.length > 0;
      for (const [model, gone] of cards) {
        if (!(model in buckets)) {
          gone.destroy();
          gone.remove();
          cards.delete(model);
        }
      }
      for (const [model, status] of models) {
        if (!cards.has(model)) {
          cards.set(model, card(model));
          list.append(cards.get(model));
        }
        cards.get(model).set(status, queues.get(model), now);
      }
    },
    destroy() {
      cards.forEach((each) => each.destroy());
    },
  };
}
