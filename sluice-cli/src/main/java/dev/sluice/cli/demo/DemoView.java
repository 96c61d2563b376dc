package dev.sluice.cli.demo;

/** Shows the demo while it runs. Called by one thread. */
public interface DemoView extends AutoCloseable {
  /** Something happened. */
  void event(long millis, String text);

  /** Called several times a second. */
  void tick(DemoStatus status);

  @Override
  void close();

  /** Shows nothing. */
  DemoView NONE =
      new DemoView() {
        @Override
        public void event(long millis, String text) {}

        @Override
        public void tick(DemoStatus status) {}

        @Override
        public void close() {}
      };
}
