package dev.sluice.governor.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * What a model is charged on return for what this node granted by itself.
 *
 * @param granted tokens that were granted
 * @param tokens those less what was given back
 * @param requests how many were granted
 * @param refundable what can still be given back of those that are open
 * @param classes tokens by class
 * @param tenants tokens by tenant
 * @param open what is not settled
 */
record Charge(
    long granted,
    long tokens,
    long requests,
    long refundable,
    Map<String, Long> classes,
    Map<String, Long> tenants,
    List<OpenGrants.Grant> open) {
  boolean isNothing() {
    return granted == 0 && tenants.isEmpty() && open.isEmpty();
  }

  /** As the script has them, but for what is not open any more. */
  String[] words(long number, long pauseMicros, Predicate<String> isOpen) {
    List<String> words = new ArrayList<>();
    words.add(Long.toString(number));
    words.add(Long.toString(pauseMicros));
    words.add(Long.toString(tokens));
    words.add(Long.toString(requests));
    words.add(Long.toString(refundable));
    add(words, classes);
    add(words, tenants);
    open.stream()
        .filter(each -> isOpen.test(each.id()))
        .forEach(each -> words.addAll(each.words()));
    return words.toArray(String[]::new);
  }

  private static void add(List<String> words, Map<String, Long> parts) {
    words.add(Integer.toString(parts.size()));
    parts.forEach(
        (name, tokens) -> {
          words.add(name);
          words.add(Long.toString(tokens));
        });
  }
}
