package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class TokenRequestTest {
  private static final TokenRequest GOOD = TokenRequest.of("m", 1).withPriorityClass("P1_user");

  private static void assertUnpaired(String name, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(name + " must not contain an unpaired surrogate");
  }

  @Test
  void unpairedSurrogate_isRejected() {
    for (String half : new String[] {"\ud83c", "a\udf88", "\udf88\ud83c", "\ud83c\ud83c\udf88"}) {
      assertUnpaired("model", () -> GOOD.withModel(half));
      assertUnpaired("priority class", () -> TokenRequest.of("m", 1).withPriorityClass(half));
      assertUnpaired("tenant", () -> GOOD.withTenant(half));
      assertUnpaired("idempotency key", () -> GOOD.withIdempotencyKey(half));
    }
    String whole = "\ud83c\udf88 ?";
    assertThat(GOOD.withTenant(whole).withIdempotencyKey(whole).tenant()).isEqualTo(whole);
  }
}
