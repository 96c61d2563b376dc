package dev.sluice.governor.engine;

import dev.sluice.governor.ModelBudget;

/** Records what must survive a restart. Guarded by the lock of the model. */
public interface GrantLog extends AutoCloseable {
  /** Forgets everything: a restart begins full. */
  GrantLog NONE =
      new GrantLog() {
        @Override
        public void granted(OpenGrant grant) {}

        @Override
        public void settled(String id, long charged, long now) {}

        @Override
        public void ended(String id, long now) {}

        @Override
        public void extended(OpenGrant grant) {}

        @Override
        public void restate(
            ModelBudget budget, ModelWaitingList line, OpenGrants grants, long now) {}

        @Override
        public void tidy(ModelWaitingList line, OpenGrants grants, long now) {}

        @Override
        public void close() {}
      };

  void granted(OpenGrant grant);

  void settled(String id, long charged, long now);

  void ended(String id, long now);

  void extended(OpenGrant grant);

  /** From now on other limits hold. */
  void restate(ModelBudget budget, ModelWaitingList line, OpenGrants grants, long now);

  /** Is told now and then how everything stands, so that what is over need not be kept. */
  void tidy(ModelWaitingList line, OpenGrants grants, long now);

  @Override
  void close();
}
