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
  if (ms < 1_000) {
    return Math.round(ms) + " ms";
  }
  const seconds = ms / 1_000;
  if (seconds < 10) {
    return seconds.toFixed(1) + " s";
  }
  if (seconds < 60) {
    return Math.round(seconds) + " s";
  }
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) {
    return minutes + " min " + Math.round(seconds % 60) + " s";
  }
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? hours + " h " + (minutes % 60) + " min" : Math.floor(hours / 24) + " days";
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

const encoder = new TextEncoder();

/** The bytes of a message, however the API sent them. */
export function payloadOf(message) {
  if (message.payload !== undefined) {
    return encoder.encode(message.payload);
  }
  const raw = atob(message.payload_base64 ?? "");
  return Uint8Array.from(raw, (each) => each.charCodeAt(0));
}

/** Sixteen bytes to a line: where, in hexadecimal, and as text where it is printable. */
export function hex(data, most = 4_096) {
  const lines = [];
  for (let at = 0; at < Math.min(data.length, most); at += 16) {
    const part = [...data.slice(at, Math.min(at + 16, most))];
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
  if (data.length > most) {
    lines.push("… " + bytes(data.length - most) + " more");
  }
  return lines.join("\n");
}
