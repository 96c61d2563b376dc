// The JSON API, with the key of this tab. The key is in session storage only: it ends with the tab.

const KEY = "sluice-key";

/** A refusal with the message of the server; status 0 if it did not answer. */
export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function key() {
  return sessionStorage.getItem(KEY) ?? "";
}

export function setKey(value) {
  if (value) {
    sessionStorage.setItem(KEY, value);
  } else {
    sessionStorage.removeItem(KEY);
  }
}

/** Says that there are none; where a key is in use there may be some that it may not see. */
export function none(words) {
  return words + (key() ? ", or this key may see none." : ".");
}

/** Puts names into a path: `path`/v1/queues/${queue}``, and values into the query behind it. */
export function path(parts, ...names) {
  return parts.reduce((all, part, i) => {
    const name = String(names[i - 1]);
    if ((name === "." || name === "..") && !all.includes("?")) {
      throw new ApiError(
        404,
        "NOT_FOUND",
        `a name must not be . or .., which vanish from paths of URLs, but was "${name}"`,
      );
    }
    return all + encodeURIComponent(name) + part;
  });
}

async function call(method, where, body, more = {}) {
  const headers = { ...more };
  if (key()) {
    headers.Authorization = "Bearer " + key();
  }
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(where, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      signal: AbortSignal.timeout(10_000),
    });
  } catch (away) {
    throw new ApiError(0, "AWAY", "The server does not answer.");
  }
  const answer = await response.text().catch(() => "");
  let json = null;
  try {
    json = answer ? JSON.parse(answer) : null;
  } catch {
    json = null;
  }
  if (!response.ok) {
    const error = json?.error;
    throw new ApiError(
      response.status,
      error?.code ?? String(response.status),
      error?.message ?? "The server answered " + response.status + ".",
    );
  }
  return json;
}

export const get = (where) => call("GET", where);
export const post = (where, body = {}) => call("POST", where, body);
export const put = (where, body) => call("PUT", where, body);
/** Changes the fields that `body` names; refused if the resource has another revision. */
export const patch = (where, body, revision) =>
  call("PATCH", where, body, { "If-Match": '"' + revision + '"' });
export const remove = (where) => call("DELETE", where);

/** Returns the result of `call`, or null and a note in `page` if it does not exist or this key may not see it. */
export async function found(page, call) {
  try {
    const answer = await call();
    page.isMissing(null);
    return answer;
  } catch (refused) {
    if (refused instanceof ApiError && (refused.status === 403 || refused.status === 404)) {
      page.isMissing(refused.message);
      return null;
    }
    throw refused;
  }
}

/** The answer, or null if the key does not allow it: views show permitted data only. */
export async function allowed(promise) {
  try {
    return await promise;
  } catch (refused) {
    if (refused instanceof ApiError && refused.status === 403) {
      return null;
    }
    throw refused;
  }
}
