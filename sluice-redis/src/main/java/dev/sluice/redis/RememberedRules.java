package dev.sluice.redis;

import java.util.List;

/** Rates and templates as they were when somebody last looked. */
record RememberedRules(List<Rule> rules, long version) {
  static final RememberedRules NONE = new RememberedRules(List.of(), 0);
}
