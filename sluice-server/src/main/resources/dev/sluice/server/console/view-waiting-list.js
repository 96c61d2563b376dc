import { allowed, get, none, path, remove } from "./api.js";
import { actions, figure, named } from "./columns.js";
import { ask, toast } from "./dialogs.js";
import { button, h, text } from "./dom.js";
import { count, plural, span, tokens, turn } from "./format.js";
import { maySome } from "./permissions.js";
import { table } from "./table.js";
import { waitingOf } from "./view-models.js";

const PAGE = 100;

async function cancel(row) {
  const done = await ask({
    id: "cancel-ticket",
    title: "Cancel this ticket?",
    message:
      "Position " +
      row.queuePosition +
      ", " +
      tokens(row.tokens) +
      (row.tenant ? " of " + row.tenant : "") +
      ". Callers that wait for it get an error.",
    confirm: "Cancel the ticket",
    leave: "Keep it",
    danger: true,
    act: () => remove(path`/v1/governor/tickets/${row.ticket}`),
  });
  if (done) {
    toast("The ticket is canceled.");
  }
}

/** Shortens a ticket; the server shows tickets only to keys that may do everything. */
function shortened({ ticket }) {
  return ticket === "" ? "–" : ticket.slice(0, 18) + "…";
}

export function view(wanted) {
  let offset = 0;
  let refresh = () => {};
  const choice = h("select", {
    "data-action": "model",
    onchange: (event) => {
      location.hash = "#/tickets/" + encodeURIComponent(event.target.value);
    },
  });
  const summary = h("p", { class: "muted", role: "status", "data-testid": "tickets-summary" });
  const back = button("Previous", "previous", () => page(-PAGE));
  const forth = button("Next", "next", () => page(PAGE));
  function page(by) {
    offset = Math.max(0, offset + by);
    refresh();
  }
  const list = table({
    id: "tickets",
    label: "Waiting list",
    key: (row) => row.ticket || "at " + row.queuePosition,
    empty: "The waiting list is empty.",
    rowHeader: 2,
    columns: [
      figure("position", "Position", (row) => row.queuePosition),
      { id: "priority", label: "Class", sort: (row) => row.priority, value: (row) => row.priority },
      named("tenant", "Tenant", (row) => row.tenant),
      figure("tokens", "Tokens", (row) => row.tokens, count, { low: true }),
      {
        ...figure("eta", "Granted in about", (row) => row.etaMs ?? Infinity),
        value: (row) => turn(row.etaMs, row.binding),
      },
      figure("waited", "Waited", (row) => row.waitedMs, span, { low: true }),
      { id: "ticket", label: "Ticket", low: true, value: shortened },
      actions({
        label: "Cancel",
        action: "cancel-ticket",
        says: (row) => "Cancel ticket " + row.ticket,
        act: cancel,
        may: (row) => row.ticket !== "" && maySome("governor"),
      }),
    ],
  });
  const element = h(
    "section",
    { "data-view": "tickets" },
    h(
      "div",
      { class: "heading" },
      h("h1", {}, "Tickets"),
      h("div", { class: "actions" }, h("label", { class: "choice" }, "Model ", choice)),
    ),
    h("div", { class: "card" }, summary, list, h("div", { class: "pages" }, back, forth)),
  );
  return {
    element,
    title: "Tickets",
    onRefresh(then) {
      refresh = then;
    },
    async tick() {
      const { buckets } = await get("/v1/governor/status");
      const models = Object.keys(buckets);
      if ([...choice.options].map((each) => each.value).join("\n") !== models.join("\n")) {
        choice.replaceChildren(...models.map((each) => h("option", { value: each }, each)));
      }
      const model =
        wanted && models.includes(wanted)
          ? wanted
          : (models.find((each) => waitingOf(buckets[each]) > 0) ?? models[0]);
      const note = wanted && model !== wanted ? "There is no model " + wanted + ". " : "";
      if (!model) {
        text(summary, note + none("No models are configured"));
        list.set([]);
        return;
      }
      if (document.activeElement !== choice) {
        choice.value = model;
      }
      const waiting = await allowed(
        get(path`/v1/governor/models/${model}/waiting-list` + "?limit=" + PAGE + "&offset=" + offset),
      );
      if (waiting === null) {
        text(summary, "This key may not see the waiting list: that needs read on model:" + model + ".");
        list.hidden = true;
        back.parentElement.hidden = true;
        return;
      }
      list.hidden = false;
      if (waiting.total <= offset && offset > 0) {
        offset = Math.max(0, Math.floor((waiting.total - 1) / PAGE) * PAGE);
      }
      const end = offset + waiting.tickets.length;
      text(
        summary,
        note +
          (waiting.total === 0 ? "No requests wait" : plural(waiting.total, "request") + " waiting") +
          " for " +
          model +
          (waiting.total > PAGE ? "; " + count(offset + 1) + " to " + count(end) : "") +
          ".",
      );
      back.disabled = offset === 0;
      forth.disabled = end >= waiting.total;
      back.parentElement.hidden = waiting.total <= PAGE;
      list.set(waiting.tickets);
    },
  };
}
