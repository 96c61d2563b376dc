import { ApiError, get, key, setKey } from "./api.js";
import { redraw } from "./charts.js";
import { ask } from "./dialogs.js";
import { attr, text, visible } from "./dom.js";
import { span, time } from "./format.js";
import { learn, openGates } from "./permissions.js";
import { view as dead } from "./view-dead-letters.js";
import { view as models } from "./view-models.js";
import { view as overview } from "./view-overview.js";
import { view as queue } from "./view-queue.js";
import { view as queues } from "./view-queues.js";
import { view as throttles } from "./view-throttles.js";
import { view as tickets } from "./view-waiting-list.js";

const EVERY_MS = 1_000;
const LONGEST_MS = 15_000;
const VIEWS = { overview, queues, queue, throttles, models, tickets, dead };
const UNDER = { queue: "queues" };

const main = document.getElementById("main");
const banner = document.getElementById("banner");
const status = document.getElementById("status");

let current = null;
let timer = 0;
let turn = 0;
let failures = 0;
let told = false;

// ---- where we are

function route() {
  const [where, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  return { where: Object.hasOwn(VIEWS, where) ? where : "overview", what: decoded(rest.join("/")) };
}

function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function go(event) {
  if (location.hash === "#main") {
    return;
  }
  const { where, what } = route();
  leave();
  current = VIEWS[where](what);
  current.onRefresh?.(() => poll());
  main.replaceChildren(current.element);
  document.title = visible(current.title) + " · Sluice";
  for (const link of document.querySelectorAll("[data-nav]")) {
    const here = link.dataset.nav === (UNDER[where] ?? where);
    attr(link, "aria-current", here ? "page" : null);
  }
  window.scrollTo(0, 0);
  if (event) {
    main.focus({ preventScroll: true });
  }
  poll();
}

/** Closes the dialogs of the current view and stops its refreshes. */
function leave() {
  document.querySelectorAll('dialog:not([data-dialog="sign-in"])').forEach((each) => each.close());
  current?.destroy?.();
  current = null;
  main.replaceChildren();
}

// ---- refreshing, while the page is visible

async function poll() {
  clearTimeout(timer);
  const mine = ++turn;
  if (document.hidden || !current) {
    return;
  }
  const began = performance.now();
  let wait = EVERY_MS;
  try {
    await learn(Date.now());
    if (mine !== turn) {
      return;
    }
    openGates();
    await current.tick(Date.now());
    if (mine !== turn) {
      return;
    }
    openGates();
    answered();
    // Slow requests are sent less often.
    wait = Math.min(LONGEST_MS, Math.max(EVERY_MS, 3 * (performance.now() - began)));
  } catch (refused) {
    if (mine !== turn) {
      return;
    }
    wait = failed(refused);
  }
  if (wait !== null) {
    timer = setTimeout(poll, wait);
  }
}

function live() {
  failures = 0;
  text(status, "Live");
  attr(status, "data-state", "live");
}

function answered() {
  live();
  banner.hidden = true;
  if (!told) {
    told = true;
    get("/v1/info").then(
      (info) =>
        text(
          document.getElementById("server"),
          "Sluice " + info.version + ", up since " + time(info.started_at_ms),
        ),
      () => {
        told = false;
      },
    );
  }
}

/** Returns the time to wait, or null if the user has to act first. */
function failed(refused) {
  if (!(refused instanceof ApiError)) {
    console.error(refused);
    say("Internal error of this page: " + refused.message);
    return LONGEST_MS;
  }
  if (refused.status === 401) {
    leave();
    banner.hidden = true;
    signIn();
    return null;
  }
  if (refused.status === 403 || refused.status === 404) {
    live();
    say(refused.message);
    return 5_000;
  }
  failures++;
  told = false;
  const wait = Math.min(LONGEST_MS, EVERY_MS * 2 ** Math.min(failures - 1, 5));
  say(refused.message + " Retrying in " + span(wait) + ".");
  text(status, refused.status === 0 ? "Away" : "Trouble");
  attr(status, "data-state", "away");
  return wait;
}

function say(words) {
  banner.hidden = false;
  text(banner, words);
}

// ---- the API key in use

let asking = false;

async function signIn() {
  if (asking) {
    return;
  }
  asking = true;
  text(status, "Signed out");
  attr(status, "data-state", "away");
  const had = key() !== "";
  setKey("");
  await ask({
    id: "sign-in",
    title: "Sign in",
    message:
      (had ? "The API key is no longer valid. " : "") +
      "This server requires an API key. It is kept in this tab only, until the tab is closed.",
    fields: [{ name: "key", label: "API key", type: "password", required: true }],
    confirm: "Sign in",
    cancelable: false,
    act: async ({ key: wanted }) => {
      // Of others no header can be made, and no server has any.
      if (!/^[\x20-\x7e]*$/.test(wanted.trim())) {
        throw new Error("An API key has only printable ASCII characters.");
      }
      setKey(wanted.trim());
      try {
        await get("/v1/info");
      } catch (refused) {
        setKey("");
        throw refused.status === 401 ? new Error("This API key is not valid here.") : refused;
      }
    },
  });
  // The present view may show more than this key may see.
  location.reload();
}

const signOut = document.getElementById("signout");
signOut.hidden = key() === "";
signOut.addEventListener("click", () => {
  setKey("");
  location.reload();
});

// ---- light and dark

const dark = matchMedia("(prefers-color-scheme: dark)");
const toggle = document.getElementById("theme");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : dark.matches;
}

function themed() {
  text(toggle, isDark() ? "Light" : "Dark");
  attr(toggle, "aria-label", isDark() ? "Use light colors" : "Use dark colors");
  redraw();
}

toggle.addEventListener("click", () => {
  const wanted = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = wanted;
  try {
    localStorage.setItem("sluice-theme", wanted);
  } catch {
    // Then it holds for this page only.
  }
  themed();
});
dark.addEventListener("change", themed);

// ---- begin

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
window.addEventListener("hashchange", go);
document.addEventListener("visibilitychange", () => poll());
themed();
go();
