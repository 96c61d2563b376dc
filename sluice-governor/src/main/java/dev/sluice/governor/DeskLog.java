package dev.sluice.governor;

/** What a desk must still know after a restart. Guarded by the desk. */
interface DeskLog extends AutoCloseable {
  /** Forgets everything: a restart begins full. */
  DeskLog NONE =
      new DeskLog() {
        @Override
        public void granted(Grant grant) {}

        @Override
        public void settled(String id, long charged, long now) {}

        @Override
        public void ended(String id, long now) {}

        @Override
        public void extended(Grant grant) {}

        @Override
        public void restate(ModelBudget budget, ModelLine line, GrantBook grants, long now) {}

        @Override
        public void tidy(ModelLine line, GrantBook grants, long now) {}

        @Override
        public void close() {}
      };

  void granted(Grant grant);

  void settled(String id, long charged, long now);

  void ended(String id, long now);

  void extended(Grant grant);

  /** From now on other limits hold. */
  void restate(ModelBudget budget, ModelLine line, GrantBook grants, long now);

  /** Is told now and then how everything stands, so that what is over need not be kept. */
  void tidy(ModelLine line, GrantBook grants, long now);

  @Override
  void close();
}
