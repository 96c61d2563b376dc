const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const small = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

export function count(value) {
  return Math.abs(value) >= 1_000_000 ? compact.format(value) : whole.format(value);
}

export function number(value) {
  return Math.abs(value) >= 1_000_000
    ? compact.format(value)
    : (Math.abs(value) < 100 ? fine : whole).format(value);
}

export function rate(perSecond) {
  if (perSecond === null || perSecond === undefined || Number.isNaN(perSecond)) {
    return "–";
  }
  if (perSecond > 0 && perSecond < 0.1) {
    return small.format(perSecond) + "/s";
  }
  return (
    (perSecond >= 100 ? count(perSecond) : fine.format(Math.round(perSecond * 10) / 10)) + "/s"
  );
}

export function percent(part) {
  return (part * 100).toFixed(part > 0 && part < 0.1 ? 1 : 0) + " %";
}

/** A time span in words short enough for a table. */
export function span(ms) {
  if (ms === null || ms === undefined || ms < 0) {
    return "–";
  }
  if (ms < 1) {
    return "now";
  }
  if (ms < 999.5) {
    return Math.round(ms) + " ms";
  }
  if (ms < 9_950) {
    return (ms / 1_000).toFixed(1) + " s";
  }
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) {
    return seconds + " s";
  }
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) {
    return minutes + " min " + (seconds % 60) + " s";
  }
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? hours + " h " + (minutes % 60) + " min" : Math.floor(hours / 24) + " days";
}

/** When it is a request's turn, or why that is unknown: "1.5 s", "unknown: concurrency". */
export function turn(etaMs, binding) {
  return etaMs === undefined ? "unknown: " + binding.toLowerCase() : span(etaMs);
}

/** When something comes: "in 3 ms", or "now". */
export function within(ms) {
  const words = span(ms);
  return words === "now" ? words : "in " + words;
}

export function time(ms) {
  return new Date(ms).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}

export function bytes(size) {
  if (size < 1024) {
    return size + " B";
  }
  return size < 1024 * 1024
    ? (size / 1024).toFixed(1) + " KiB"
    : (size / 1024 / 1024).toFixed(1) + " MiB";
}

export function plural(number, one, many = one + "s") {
  return count(number) + " " + (number === 1 ? one : many);
}

export function tokens(value) {
  return number(value) + (value === 1 ? " token" : " tokens");
}

/** Shows few tokens in tenths: half a token is much of a burst of 1. */
const FEW = 10;

/** The rest of a burst; never more than the burst. */
export function left(value, burst) {
  return number(burst < FEW ? Math.floor(value * 10) / 10 : Math.floor(value));
}

const encoder = new TextEncoder();

/** The part of a payload that is decoded, however large it is: whole groups of base64. */
const MOST_BYTES = 4_095;

/** The first bytes of a message, however the API sent them. */
export function bytesOf(message) {
  if (message.payload !== undefined) {
    return encoder.encode(message.payload.slice(0, MOST_BYTES)).slice(0, MOST_BYTES);
  }
  const raw = atob((message.payload_base64 ?? "").slice(0, (MOST_BYTES / 3) * 4));
  return Uint8Array.from(raw, (each) => each.charCodeAt(0));
}

/** Sixteen bytes to a line: where, in hexadecimal, and as text where it is printable. */
export function hex(data, size) {
  const lines = [];
  for (let at = 0; at < data.length; at += 16) {
    const part = [...data.slice(at, at + 16)];
    lines.push(
      at.toString(16).padStart(6, "0") +
        "  " +
        part
          .map((each) => each.toString(16).padStart(2, "0"))
          .join(" ")
          .padEnd(48) +
        " " +
        part.map((each) => (each >= 32 && each < 127 ? String.fromCharCode(each) : ".")).join(""),
    );
  }
  if (size > data.length) {
    lines.push("… " + bytes(size - data.length) + " more");
  }
  return lines.join("\n");
}
