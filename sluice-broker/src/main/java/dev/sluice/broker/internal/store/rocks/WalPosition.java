package dev.sluice.broker.internal.store.rocks;

/**
 * A place between two batches in the write-ahead logs of a {@link RocksStore}.
 *
 * @param log number of the log; those with lower numbers are before this place as a whole
 * @param bytes length of that log up to this place
 */
public record WalPosition(long log, long bytes) {}
