import { get, none, path, put, remove } from "./api.js";
import { actions, figure, named, standing } from "./columns.js";
import { ask, show, toast } from "./dialogs.js";
import { attr, bar, button, h, heading, text } from "./dom.js";
import { count, left, number, plural, rate, span, tokens, within } from "./format.js";
import { Holds, Rates } from "./history.js";
import { gated, may, mayAll, maySome } from "./permissions.js";
import { table } from "./table.js";

const taken = new Rates();
const holds = new Holds();

/** Throttle keys of the API, with the tokens taken per second and whether that is too much. */
export function watched({ throttles, at_ms: now }) {
  taken.take(
    throttles.map((each) => [each.key, each.taken]),
    now,
  );
  return throttles.map((each) => ({
    ...each,
    perSecond: taken.of(each.key),
    excess: holds.excess(each, now),
  }));
}

/** The name of a throttle key or of a limit. */
const nameOf = (row) => row.name ?? row.key;

/** Says why a request for `requested` tokens can never be granted; null if it can. */
export function tooLarge(requested, { key, burst }) {
  return requested > burst
    ? "requests " + number(requested) + ", " + key + " holds at most " + number(burst)
    : null;
}

function never(requested, row) {
  const why = tooLarge(requested, row);
  return why === null ? null : "never: " + why;
}

/** A figure, or words in its place if a message can never be delivered. */
function figureOrNever(td, words) {
  text(td, words);
  attr(td, "data-never", words.includes("never: ") ? "" : null);
}

/** When the next waiter is granted, and whether one never is. */
function next(row) {
  const stuck = never(row.impossible_cost, row);
  return stuck === null
    ? span(row.next_grant_in_ms)
    : row.next_grant_in_ms === undefined
      ? stuck
      : span(row.next_grant_in_ms) + ", another " + stuck;
}

async function change(kind, where, row) {
  let wanted = row ? nameOf(row) : "";
  const done = await ask({
    id: "change-limit",
    title: row ? "Change the limit " + nameOf(row) : "New " + kind,
    message:
      kind === "limit"
        ? "A name such as provider, or a template such as tenant:*, which gives each name with that prefix its own tokens."
        : "Messages that name this throttle key share its limit, in all queues.",
    fields: [
      ...(row ? [] : [{ name: "name", label: kind === "limit" ? "Name" : "Key", required: true }]),
      {
        name: "rate_per_second",
        label: "Tokens per second",
        type: "number",
        value: row?.rate_per_second ?? 10,
        min: 0,
        step: "any",
        required: true,
      },
      {
        name: "burst",
        label: "Burst",
        type: "number",
        value: row?.burst ?? 10,
        min: 0,
        step: "any",
        required: true,
        hint: "The most tokens at once.",
      },
    ],
    confirm: row ? "Change" : "Create",
    act: async ({ name, ...values }) => {
      wanted = row ? nameOf(row) : name;
      await put(where(wanted), values);
    },
  });
  if (done) {
    toast("The limit " + wanted + " is set.");
  }
}

async function drop(kind, where, key) {
  const done = await ask({
    id: "remove-limit",
    title: "Remove the " + kind + " " + key + "?",
    message:
      kind === "limit"
        ? "Decisions for this name then fail with NOT_FOUND, unless a template covers it."
        : "Messages that wait for it are delivered at once.",
    confirm: "Remove",
    danger: true,
    act: () => remove(where(key)),
  });
  if (done) {
    toast("The " + kind + " " + key + " is removed.");
  }
}

const throttlePath = (key) => path`/v1/throttles/${key}`;
const limitPath = (name) => path`/v1/limits/${name}`;

async function showWaiters(row) {
  const { waiters } = await get(throttlePath(row.key) + "/waiters?limit=1000");
  const messages = waiters.reduce((sum, each) => sum + each.messages, 0);
  const stuck = waiters.filter((each) => never(each.next_tokens, row) !== null);
  const requested = waiters
    .filter((each) => !stuck.includes(each))
    .reduce((sum, each) => sum + each.tokens, 0);
  const list = table({
    id: "waiters",
    label: "Tenants waiting for " + row.key,
    key: (each) => each.queue + "\n" + each.fairness_key,
    empty: "Nothing waits for it.",
    columns: [
      named("queue", "Queue", (each) => each.queue, { wide: false }),
      named("key", "Tenant", (each) => each.fairness_key),
      figure("messages", "Messages", (each) => each.messages),
      figure("tokens", "Tokens", (each) => each.tokens, number),
      {
        id: "next",
        label: "Next requests",
        numeric: true,
        sort: (each) => each.next_tokens,
        cell: (td, each) => figureOrNever(td, never(each.next_tokens, row) ?? number(each.next_tokens)),
      },
    ],
  });
  const words = [
    plural(messages, "message") + (messages === 1 ? " waits." : " wait."),
    row.rate_per_second > 0 && requested > 0
      ? "The next is granted " +
        within(row.next_grant_in_ms) +
        "; at " +
        rate(row.rate_per_second) +
        " the last in about " +
        span((requested / row.rate_per_second) * 1_000) +
        "."
      : "",
    stuck.length > 0
      ? plural(stuck.length, "tenant") +
        (stuck.length === 1 ? " waits" : " wait") +
        " until the limit is changed."
      : "",
  ].join(" ");
  show("waiters", "Tenants waiting for " + row.key, h("p", {}, words), list);
  list.set(waiters);
}

/** Tells whether no more tokens were taken than the limit allows. */
function holding({ excess }) {
  return excess === null
    ? ["–", ""]
    : excess > 0
      ? ["over by " + number(excess), "bad"]
      : ["yes", "good"];
}

function levelCell(td, row) {
  if (!td.firstChild) {
    td.append(bar("Level of " + nameOf(row)), h("span", { class: "beside" }));
  }
  if (row.level === undefined) {
    td.firstChild.hidden = true;
    text(td.lastChild, nameOf(row).endsWith("*") ? "each name its own" : "unknown");
    return;
  }
  td.firstChild.hidden = false;
  const part = row.burst > 0 ? row.level / row.burst : 0;
  td.firstChild.set(part, number(row.level) + " of " + tokens(row.burst), {
    tone: part < 0.1 ? "warn" : "good",
  });
  text(td.lastChild, left(row.level, row.burst) + " / " + number(row.burst));
}

function limitButtons(kind, where, mayChange) {
  return actions(
    {
      label: "Change",
      action: "change-limit",
      says: (row) => "Change the limit " + nameOf(row),
      act: (row) => change(kind, where, row),
      may: mayChange,
    },
    {
      label: "Remove",
      action: "remove-limit",
      says: (row) => "Remove " + nameOf(row),
      act: (row) => drop(kind, where, nameOf(row)),
      may: mayChange,
    },
  );
}

export function view() {
  const throttles = table({
    id: "throttles",
    label: "Throttle keys",
    key: (row) => row.key,
    empty: none("No throttle key has a limit") + " A throttle key without one delays no messages.",
    columns: [
      named("key", "Throttle key", (row) => row.key),
      {
        id: "level",
        label: "Level",
        sort: (row) => row.level / (row.burst || 1),
        cell: levelCell,
      },
      figure("rate", "Limit", (row) => row.rate_per_second, rate),
      figure("taken", "Taken", (row) => row.perSecond, rate),
      standing("holds", "Holds", holding, { sort: (row) => row.excess ?? 0 }),
      {
        id: "waiting",
        label: "Waiting",
        numeric: true,
        sort: (row) => row.waiters,
        cell: (td, row, current) => {
          if (!td.firstChild) {
            td.append(
              button(
                "",
                "waiters",
                () => showWaiters(current()).catch((refused) => toast(refused.message, "bad")),
                { class: "link" },
              ),
            );
          }
          text(td.firstChild, count(row.waiters));
          attr(
            td.firstChild,
            "aria-label",
            "Tenants waiting for " + row.key + ": " + plural(row.waiters, "tenant"),
          );
        },
      },
      {
        id: "next",
        label: "Next granted in",
        numeric: true,
        sort: (row) => row.next_grant_in_ms ?? Infinity,
        cell: (td, row) => figureOrNever(td, row.waiters > 0 ? next(row) : "–"),
      },
      limitButtons("throttle key", throttlePath, () => mayAll("admin")),
    ],
  });
  const limits = table({
    id: "limits",
    label: "Limits",
    key: (row) => row.name,
    empty: none("There are no limits yet") + " A decision for a name without a limit fails.",
    columns: [
      named("name", "Limit", (row) => row.name),
      {
        id: "level",
        label: "Level",
        sort: (row) => (row.level ?? Infinity) / (row.burst || 1),
        cell: levelCell,
      },
      figure("rate", "Rate", (row) => row.rate_per_second, rate),
      figure("burst", "Burst", (row) => row.burst, number, { low: true }),
      limitButtons("limit", limitPath, (row) => may("admin", row.name)),
    ],
  });
  const found = h("p", { class: "muted", role: "status", "data-testid": "limit-found" });
  const wanted = h("input", {
    type: "search",
    placeholder: "Name, such as tenant:acme",
    "aria-label": "Limit to look up",
    spellcheck: "false",
  });
  const look = h(
    "form",
    {
      class: "inline",
      onsubmit: async (event) => {
        event.preventDefault();
        try {
          const row = await get(limitPath(wanted.value));
          const level =
            row.level === undefined
              ? "an unknown level"
              : number(row.level) + " of " + tokens(row.burst) + " left";
          text(found, row.name + " has " + level + ", " + rate(row.rate_per_second) + ".");
        } catch (refused) {
          text(found, refused.message);
        }
      },
    },
    wanted,
    h("button", { type: "submit", "data-action": "look-up" }, "Look up"),
  );
  const newThrottle = gated(
    button("New throttle key", "new-throttle", () => change("throttle key", throttlePath)),
    () => mayAll("admin"),
  );
  const more = h("p", { class: "muted" });
  const element = h(
    "section",
    { "data-view": "throttles" },
    h("h1", {}, "Limits"),
    h(
      "div",
      { class: "card" },
      heading(2, "Throttle keys of queues", newThrottle),
      throttles,
      more,
    ),
    h(
      "div",
      { class: "card" },
      heading(
        2,
        "Limits for decisions",
        look,
        gated(
          button("New limit", "new-limit", () => change("limit", limitPath)),
          () => maySome("admin"),
        ),
      ),
      found,
      limits,
    ),
  );
  return {
    element,
    title: "Limits",
    async tick() {
      const [keys, rules] = await Promise.all([
        get("/v1/throttles?limit=10000"),
        get("/v1/limits"),
      ]);
      throttles.set(watched(keys));
      text(
        more,
        keys.total > keys.throttles.length
          ? "The first " + count(keys.throttles.length) + " of " + count(keys.total) + "."
          : "",
      );
      limits.set(rules.limits);
    },
  };
}
