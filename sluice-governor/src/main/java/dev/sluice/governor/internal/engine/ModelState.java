package dev.sluice.governor.internal.engine;

import dev.sluice.governor.ModelBudget;

/** The state of a model, which reading its journal or a snapshot fills. */
public record ModelState(
    String model,
    ModelBudget budget,
    ModelWaitingList waitingList,
    OpenGrants grants,
    Tickets tickets,
    long life) {}
