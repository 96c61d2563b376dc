package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.BrokerConfig;
import dev.sluice.server.transport.MemoryBudgets;
import org.junit.jupiter.api.Test;

class ServerMemoryTest {
  private static final int MEBIBYTE = 1 << 20;

  @Test
  void inboundBytes_areAShareOfTheHeap() {
    BrokerConfig all = BrokerConfig.builder().maxInboundBytes(1L << 40).build();
    long heap = Runtime.getRuntime().maxMemory();
    assertThat(MemoryBudgets.broker(all, MEBIBYTE).maxInboundBytes())
        .isEqualTo(Math.max(all.maxMessageBytes(), heap / 16));
  }

  @Test
  void settings_canLowerTheBound() {
    BrokerConfig little = BrokerConfig.builder().maxInboundBytes(16 * MEBIBYTE).build();
    assertThat(MemoryBudgets.broker(little, MEBIBYTE)).isEqualTo(little);
  }

  @Test
  void oneRequestOfTheLargestSize_fits() {
    BrokerConfig all = BrokerConfig.builder().maxInboundBytes(1L << 40).build();
    assertThat(MemoryBudgets.broker(all, 1 << 30).maxInboundBytes()).isGreaterThan(1 << 30);
  }
}
