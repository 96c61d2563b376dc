// The permissions of this tab's key, so that the page offers no action that the server would refuse. The
// rules are those of Permission.java and QueueAuthorization.java; only the server enforces them.
import { get } from "./api.js";

/** The suffix of a dead-letter queue's name. */
export const DEAD = ".dlq";

/** The interval of fetching the permissions, because a key may be changed while the page is open. */
const REFETCH_MS = 10_000;

let own = null;
let learned = 0;
let existing = new Set();

/** Fetches the permissions of the key if they are unknown or old. */
export async function learn(now) {
  if (own === null || now - learned > REFETCH_MS) {
    own = await get("/v1/whoami");
    learned = now;
  }
}

function includes(kind, wanted) {
  return kind === wanted || (kind === "admin" && wanted === "read");
}

function matches(pattern, name) {
  return (
    pattern === "*" ||
    (/[.:]\*$/.test(pattern) ? name.startsWith(pattern.slice(0, -1)) : name === pattern)
  );
}

function some(allows) {
  return own !== null && (own.superadmin || own.permissions.some(allows));
}

export function may(wanted, name) {
  return some(({ kind, pattern }) => includes(kind, wanted) && matches(pattern, name));
}

/** Whether the key has such a permission on any name. */
export function maySome(wanted) {
  return some(({ kind }) => includes(kind, wanted));
}

/** For every name. */
export function mayAll(wanted) {
  return some(({ kind, pattern }) => includes(kind, wanted) && pattern === "*");
}

/** The queue whose dead letters are in `queue`; `queue` itself if none are. */
export function sourceOf(queue) {
  return queue.endsWith(DEAD) ? queue.slice(0, -DEAD.length) : queue;
}

/** A permission on a queue holds for its dead-letter queue while the queue exists. */
export function mayQueue(wanted, queue) {
  const source = sourceOf(queue);
  return (
    may(wanted, queue) ||
    (source !== queue && !source.endsWith(DEAD) && existing.has(source) && may(wanted, source))
  );
}

/** Redrive requires the permission to enqueue to the source queue. */
export function mayRedrive(queue) {
  return mayQueue("admin", queue) && mayQueue("produce", sourceOf(queue));
}

/** The queues that the key may read. */
export async function listQueues() {
  const { queues } = await get("/v1/queues");
  existing = new Set(queues.map((each) => each.name));
  return queues;
}

/** Shows an element only as long as `allowed()`; until that is known it is hidden. */
export function gated(element, allowed) {
  element.gate = () => {
    element.hidden = !allowed();
  };
  element.dataset.gated = "";
  element.gate();
  return element;
}

/** Shows or hides all gated elements again. */
export function openGates() {
  document.querySelectorAll("[data-gated]").forEach((each) => each.gate());
}
