package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class TokenRequestTest {
  private static final TokenRequest GOOD = TokenRequest.of("m", 1, "P1_user");

  private static void assertHalf(String name, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(name + " must have no half of a surrogate pair");
  }

  @Test
  void halfOfASurrogatePair_isNoName() {
    for (String half : new String[] {"\ud83c", "a\udf88", "\udf88\ud83c", "\ud83c\ud83c\udf88"}) {
      assertHalf("model", () -> GOOD.withModel(half));
      assertHalf("priority", () -> TokenRequest.of("m", 1, half));
      assertHalf("tenant", () -> GOOD.withTenant(half));
      assertHalf("idempotency key", () -> GOOD.withIdempotencyKey(half));
    }
    String whole = "\ud83c\udf88 ?";
    assertThat(GOOD.withTenant(whole).withIdempotencyKey(whole).tenant()).isEqualTo(whole);
  }
}
