package dev.sluice.server;

import static dev.sluice.server.KeyedServer.by;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.ApiKeyAuthenticator;
import dev.sluice.server.auth.ApiKeyOperations;
import dev.sluice.server.auth.ApiKeyOperations.Created;
import dev.sluice.server.auth.ApiKeyOperations.NewKey;
import dev.sluice.server.auth.ApiKeyStore;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Credential;
import dev.sluice.server.auth.Permission;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.auth.RevocationWatcher;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class KeyStoreTest {
  private static final long NOW_MS = 1_000;
  private static final NewKey WANTED =
      new NewKey("n\u00e4me", 2_000, false, List.of(new Permission(Kind.PRODUCE, "foo.*")));

  @TempDir Path dir;

  private static ApiKeyOperations api(ApiKeyStore store) {
    return new ApiKeyOperations(store, () -> Instant.ofEpochMilli(NOW_MS));
  }

  private Path file() {
    return dir.resolve(ApiKeyStore.FILE);
  }

  @Test
  void file_isForItsOwnerAloneAndHoldsNoToken() throws Exception {
    Created created = api(ApiKeyStore.open(dir)).create(by(Caller.ANYBODY), WANTED);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file())))
        .isEqualTo("rw-------");
    assertThat(Files.readString(file())).contains(created.id()).doesNotContain(created.token());
    assertThat(dir).isDirectoryNotContaining("glob:**.tmp");
  }

  /** The calls may have waited for the lock of the store while the key was revoked. */
  @Test
  void waitingCallsOfARevokedKey_changeNothing() throws Exception {
    ApiKeyStore store = ApiKeyStore.open(dir);
    ApiKeyOperations api = api(store);
    List<Permission> admin = List.of(new Permission(Kind.ADMIN, "a.*"));
    Created created = api.create(by(Caller.ANYBODY), new NewKey("tenant", 0, false, admin));
    Created other = api.create(by(Caller.ANYBODY), new NewKey("other", 0, false, admin));
    RevocationWatcher keys =
        new RevocationWatcher(
            new ApiKeyAuthenticator(store, Instant::now, new Secret("bootstrap")), Instant::now);
    Credential tenant = keys.authenticate("Bearer " + created.token(), "connection");
    api.revoke(by(Caller.ANYBODY), created.id());
    for (ThrowingCallable late :
        List.<ThrowingCallable>of(
            () -> api.create(tenant, new NewKey("late", 0, false, admin)),
            () -> api.setPermissions(tenant, other.id(), List.of()),
            () -> api.revoke(tenant, other.id()))) {
      assertThatThrownBy(late).hasMessageContaining("a valid API key is required");
    }
    assertThat(store.list()).extracting(ApiKey::id).containsExactly(other.id());
    assertThat(store.get(other.id()).permissions()).isEqualTo(admin);
  }

  @Test
  void open_ofADanglingLink_fails() throws Exception {
    Files.createSymbolicLink(file(), dir.resolve("unmounted").resolve("keys.json"));
    assertThatThrownBy(() -> ApiKeyStore.open(dir)).isInstanceOf(IOException.class);
  }

  /** Any caller could grant it; that alone does not make it the caller's. */
  @Test
  void keyWithoutPermissions_isManagedByItsAccountAlone() throws Exception {
    ApiKeyStore store = ApiKeyStore.open(dir);
    ApiKeyOperations api = api(store);
    String id = api.create(by(Caller.ANYBODY), new NewKey("suspended", 0, false, List.of())).id();
    List<Permission> own = List.of(new Permission(Kind.ADMIN, "b.*"));
    Caller other = new Caller("b", false, own, ApiKey.NEVER);
    assertThat(api.list(other)).isEmpty();
    String why = "a key of another account";
    assertThatThrownBy(() -> api.get(other, id)).hasMessageContaining(why);
    assertThatThrownBy(() -> api.setPermissions(by(other), id, own)).hasMessageContaining(why);
    assertThatThrownBy(() -> api.revoke(by(other), id)).hasMessageContaining(why);
    assertThat(store.get(id).permissions()).isEmpty();
    assertThat(api.list(new Caller("a", false, own, ApiKey.NEVER, id))).hasSize(1);
    Caller all = new Caller("c", false, List.of(new Permission(Kind.ADMIN, "*")), ApiKey.NEVER);
    assertThat(api.get(all, id).name()).isEqualTo("suspended");
    api.revoke(by(all), id);
  }

  @Test
  void open_readsStoredKeys() throws Exception {
    ApiKeyStore store = ApiKeyStore.open(dir);
    Created created = api(store).create(by(Caller.ANYBODY), WANTED);
    ApiKeyStore again = ApiKeyStore.open(dir);
    assertThat(again.list()).isEqualTo(store.list()).hasSize(1);
    assertThat(again.find(created.token(), NOW_MS)).contains(again.get(created.id()));
    assertThat(api(again).get(Caller.ANYBODY, created.id()).name()).isEqualTo("n\u00e4me");
  }

  @Test
  void open_afterACrashInTheMiddleOfAWrite_hasTheOldKeys() throws Exception {
    Created created = api(ApiKeyStore.open(dir)).create(by(Caller.ANYBODY), WANTED);
    Files.writeString(dir.resolve(ApiKeyStore.FILE + ".tmp"), "{\"format\":1,");
    ApiKeyStore again = ApiKeyStore.open(dir);
    assertThat(again.find(created.token(), NOW_MS)).isPresent();
    api(again).create(by(Caller.ANYBODY), WANTED);
    assertThat(ApiKeyStore.open(dir).list()).hasSize(2);
  }

  @Test
  void open_whenAnyBitIsFlipped_fails() throws Exception {
    api(ApiKeyStore.open(dir)).create(by(Caller.ANYBODY), WANTED);
    byte[] good = Files.readAllBytes(file());
    for (int i = 0; i < good.length; i++) {
      for (int bit = 0; bit < 8; bit++) {
        byte[] bad = good.clone();
        bad[i] ^= (byte) (1 << bit);
        requireDamaged(bad, "bit %d of byte %d".formatted(bit, i));
      }
    }
  }

  @Test
  void open_whenTheFileIsCutOrHasMore_fails() throws Exception {
    api(ApiKeyStore.open(dir)).create(by(Caller.ANYBODY), WANTED);
    String good = Files.readString(file());
    for (int length = 0; length < good.length(); length++) {
      requireDamaged(
          good.substring(0, length).getBytes(StandardCharsets.UTF_8), "length " + length);
    }
    for (String bad : List.of("null", "[]", "{}", good + "x", good + good)) {
      requireDamaged(bad.getBytes(StandardCharsets.UTF_8), bad);
    }
  }

  private void requireDamaged(byte[] content, String how) throws IOException {
    Files.write(file(), content);
    assertThatThrownBy(() -> ApiKeyStore.open(dir))
        .as(how)
        .isInstanceOf(IOException.class)
        .hasMessageContaining("file of keys")
        .hasMessageContaining(file().toString());
    assertThat(Files.readAllBytes(file())).isEqualTo(content);
  }

  @Test
  void create_thatCannotBeStored_createsNoKey() throws Exception {
    ApiKeyStore store = ApiKeyStore.open(dir);
    Created kept = api(store).create(by(Caller.ANYBODY), WANTED);
    // Nothing can be written where a directory is in the way.
    Path obstacle = Files.createDirectories(dir.resolve(ApiKeyStore.FILE + ".tmp").resolve("x"));
    assertThatThrownBy(() -> api(store).create(by(Caller.ANYBODY), WANTED))
        .hasMessageContaining("could not be stored");
    assertThatThrownBy(() -> api(store).revoke(by(Caller.ANYBODY), kept.id()))
        .hasMessageContaining("could not be stored");
    assertThat(store.list()).extracting(ApiKey::id).containsExactly(kept.id());
    Files.delete(obstacle);
    Files.delete(obstacle.getParent());
    api(store).revoke(by(Caller.ANYBODY), kept.id());
    assertThat(ApiKeyStore.open(dir).list()).isEmpty();
  }

  @Test
  void concurrentCreates_loseNoKey() throws Exception {
    ApiKeyStore store = ApiKeyStore.open(dir);
    List<Callable<Created>> calls = new ArrayList<>();
    for (int i = 0; i < 80; i++) {
      calls.add(() -> api(store).create(by(Caller.ANYBODY), WANTED));
    }
    ExecutorService threads = Executors.newFixedThreadPool(8);
    List<Future<Created>> made;
    try {
      made = threads.invokeAll(calls);
    } finally {
      threads.shutdownNow();
    }
    ApiKeyStore again = ApiKeyStore.open(dir);
    for (Future<Created> each : made) {
      Created created = each.get();
      assertThat(store.find(created.token(), NOW_MS)).isPresent();
      assertThat(again.find(created.token(), NOW_MS))
          .isEqualTo(store.find(created.token(), NOW_MS));
    }
    Set<String> ids = again.list().stream().map(ApiKey::id).collect(Collectors.toSet());
    assertThat(ids).hasSize(80);
  }
}
