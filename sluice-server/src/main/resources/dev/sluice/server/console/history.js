// Past values, as far back as charts go.

const KEEP = 120;

/** Turns counters into rates; a counter that restarts does not give a negative rate. */
export class Rates {
  #last = new Map();
  #rates = new Map();

  /** Takes counters by name, as of `now` in milliseconds; absent ones are forgotten. */
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

/** Checks that the tokens taken stay within burst + rate · time, by the server's clock. */
export class Holds {
  #looks = new Map();

  /** Returns the tokens taken beyond the limit, or 0; null before the second sample. */
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
 * Shares by weight. Tenants are in groups: one of tenants with deliverable messages, and one for each
 * throttle key that tenants wait for. The due share of a tenant is its weight divided by the weight of
 * its group, times the deliveries of the group, so that only the tenant's own limit affects it. It is
 * the mean over the last refreshes in which the tenant was in a group, which is stable while other
 * tenants come and go. A tenant that was in a group in few of them has no backlog, and no due share.
 */
export class Dues {
  static LOOKS = 15;
  #looks = [];

  /**
   * Takes members, as {name, group, weight, rate}, the total weight of each group, including members
   * that are not listed, and all deliveries per second: `others` of them went to unlisted members.
   */
  take(members, weights, total, others = 0) {
    const groups = new Map([...weights].map(([id, weight]) => [id, { weight, named: 0, got: 0 }]));
    for (const { group, weight, rate } of members) {
      const of = groups.get(group);
      of.named += weight;
      of.got += rate;
    }
    let rest = 0;
    for (const of of groups.values()) {
      // Both were counted a moment apart.
      of.weight = Math.max(of.weight, of.named);
      rest += of.weight - of.named;
    }
    for (const of of groups.values()) {
      of.got += rest > 0 ? (others * (of.weight - of.named)) / rest : 0;
    }
    const parts = members.map(({ name, group, weight }) => {
      const of = groups.get(group);
      return [name, { part: weight / of.weight, got: of.got }];
    });
    this.#looks.push({ total, parts: new Map(parts) });
    if (this.#looks.length > Dues.LOOKS) {
      this.#looks.shift();
    }
  }

  /** Returns the due share of a tenant; null if it has no backlog. Without any deliveries: by weight. */
  of(name) {
    const looks = this.#looks.filter(({ parts }) => parts.has(name));
    if (2 * looks.length <= this.#looks.length) {
      return null;
    }
    const sum = (of) =>
      looks.reduce((all, { total, parts }) => all + of(parts.get(name), total), 0);
    const total = sum((_, all) => all);
    return total > 0
      ? sum(({ part, got }) => part * got) / total
      : sum(({ part }) => part) / looks.length;
  }
}
