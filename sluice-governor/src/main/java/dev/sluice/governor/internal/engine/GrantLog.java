package dev.sluice.governor.internal.engine;

import dev.sluice.governor.ModelBudget;

/** Records what must survive a restart. Guarded by the lock of the model. */
public interface GrantLog extends AutoCloseable {
  /** A log that records nothing: a restart begins full. */
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
            ModelBudget budget, ModelWaitingList waitingList, OpenGrants grants, long now) {}

        @Override
        public void compact(ModelWaitingList waitingList, OpenGrants grants, long now) {}

        @Override
        public void close() {}
      };

  void granted(OpenGrant grant);

  void settled(String id, long charged, long now);

  void ended(String id, long now);

  void extended(OpenGrant grant);

  /** Records that other limits hold from now on. */
  void restate(ModelBudget budget, ModelWaitingList waitingList, OpenGrants grants, long now);

  /** Lets the log drop grants that have ended; called now and then with the present state. */
  void compact(ModelWaitingList waitingList, OpenGrants grants, long now);

  @Override
  void close();
}
