// What was seen so far, as far as charts go back.

const KEEP = 120;

/** A counter becomes a rate; one that begins anew is no negative rate. */
export class Rates {
  #last = new Map();
  #rates = new Map();

  /** Takes counters by name, as of `now` in milliseconds; those that are gone are forgotten. */
  take(counters, now) {
    const next = new Map();
    const rates = new Map();
    for (const [name, value] of counters) {
      const before = this.#last.get(name);
      if (before && now - before.at < 900) {
        // Two looks in the same moment say nothing.
        next.set(name, before);
        rates.set(name, this.#rates.get(name) ?? null);
        continue;
      }
      next.set(name, { at: now, value });
      if (before && now > before.at) {
        const grown = value >= before.value ? value - before.value : value;
        rates.set(name, (grown * 1_000) / (now - before.at));
      }
    }
    this.#last = next;
    this.#rates = rates;
  }

  /** Null if it was seen only once. */
  of(name) {
    return this.#rates.get(name) ?? null;
  }
}

/** Lines over the last minutes: one time axis, and values by name. */
export class Lines {
  times = [];
  values = new Map();

  push(now, figures) {
    this.times.push(now);
    for (const [name, value] of figures) {
      if (!this.values.has(name)) {
        this.values.set(name, new Array(this.times.length - 1).fill(null));
      }
      this.values.get(name).push(value);
    }
    for (const [name, line] of this.values) {
      if (line.length < this.times.length) {
        line.push(null);
      }
      if (this.times.length > KEEP) {
        line.shift();
        if (line.every((each) => each === null)) {
          this.values.delete(name);
        }
      }
    }
    if (this.times.length > KEEP) {
      this.times.shift();
    }
  }
}

/** Whether what was taken stayed within burst + rate · time, by the server's own clock. */
export class Holds {
  #looks = new Map();

  /** How much more was taken than allowed; 0 if it holds. Null before the second look. */
  excess({ key, taken, rate_per_second: perSecond, burst }, now) {
    const looks = this.#looks.get(key) ?? [];
    const last = looks[looks.length - 1];
    if (last && (last.perSecond !== perSecond || last.burst !== burst || taken < last.taken)) {
      looks.length = 0;
    }
    looks.push({ taken, perSecond, burst, now });
    if (looks.length > KEEP) {
      looks.shift();
    }
    this.#looks.set(key, looks);
    if (looks.length < 2) {
      return null;
    }
    const first = looks[0];
    // Times are rounded to milliseconds.
    const most = burst + (perSecond * (now - first.now + 1)) / 1_000;
    return Math.max(0, taken - first.taken - most);
  }
}

/**
 * Shares by weight. At each look somebody who can go is due its weight of the weights of all who can;
 * the mean of the last looks at which it could does not jump when others come and go. Whoever could
 * go at few of them has no backlog, and takes what it wants: nothing is due to it.
 */
export class Dues {
  static LOOKS = 15;
  #looks = [];

  /** Takes who can go, by name and weight, and the weight of all, also of those that are not named. */
  take(weights, ofAll) {
    // Both were counted a moment apart.
    const all = Math.max(
      ofAll,
      weights.reduce((sum, [, weight]) => sum + weight, 0),
    );
    this.#looks.push(new Map(weights.map(([name, weight]) => [name, weight / all])));
    if (this.#looks.length > Dues.LOOKS) {
      this.#looks.shift();
    }
  }

  /** Null if nothing is due to it. */
  of(name) {
    const dues = this.#looks.map((each) => each.get(name)).filter((each) => each !== undefined);
    return 2 * dues.length <= this.#looks.length
      ? null
      : dues.reduce((sum, each) => sum + each, 0) / dues.length;
  }
}
