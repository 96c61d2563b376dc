package dev.sluice.examples;

import java.util.ArrayList;
import java.util.List;

/** Stands for an HTTP response in examples. */
final class Replies {
  final List<String> sent = new ArrayList<>();

  void header(String name, Object value) {
    sent.add(name + ": " + value);
  }
}
