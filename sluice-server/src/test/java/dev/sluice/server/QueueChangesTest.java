package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.QueueConfig;
import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.ApiKeyStore;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Permission;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.auth.QueueAuthorization;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.http.routes.QueueRoutes;
import dev.sluice.server.operations.QueueOperations;
import dev.sluice.server.support.ApiException;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Changes of dead-letter queues by keys that may change their source. */
@Timeout(60)
final class QueueChangesTest {
  private static final QueueConfig CONFIG = QueueConfig.defaults();

  @TempDir Path dir;
  private Broker broker;
  private QueueAuthorization access;

  @BeforeEach
  void open() {
    broker = Broker.open(dir.resolve("broker"));
    broker.createQueue("x");
    access = new QueueAuthorization(broker);
  }

  @AfterEach
  void close() {
    broker.close();
  }

  private enum Change {
    DELETE,
    PURGE,
    UPDATE;

    void apply(QueueOperations queues) {
      Caller caller = admin("x");
      switch (this) {
        case DELETE -> queues.delete(caller, "x.dlq", null);
        case PURGE -> queues.purge(caller, "x.dlq");
        case UPDATE -> queues.update(caller, "x.dlq", before -> before, null);
      }
    }
  }

  private static Caller admin(String queue) {
    return new Caller("a", false, List.of(new Permission(Kind.ADMIN, queue)), ApiKey.NEVER);
  }

  private QueueOperations queues(InvocationHandler changes) throws IOException {
    InvocationHandler handler =
        (proxy, method, arguments) ->
            List.of("deleteQueueAsync", "purgeQueueAsync", "updateQueueAsync")
                    .contains(method.getName())
                ? changes.invoke(proxy, method, arguments)
                : invoke(method, arguments);
    Broker changed =
        (Broker)
            Proxy.newProxyInstance(
                Broker.class.getClassLoader(), new Class<?>[] {Broker.class}, handler);
    return new QueueOperations(
        changed, access, new AccountQuotas(ApiKeyStore.open(dir)), AccountQuotas.openCalls());
  }

  private Object invoke(Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(broker, arguments);
    } catch (InvocationTargetException failure) {
      throw failure.getCause();
    }
  }

  private static <T> T soon(FutureTask<T> task) throws Exception {
    return task.get(20, TimeUnit.SECONDS);
  }

  /** A creation waits for the lock of the call, and all others of such names wait for it. */
  @ParameterizedTest
  @EnumSource
  void changeThatTakesLong_holdsUpNoCreation(Change change) throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CompletableFuture<Object> end = new CompletableFuture<>();
    QueueOperations queues =
        queues(
            (proxy, method, arguments) -> {
              begun.countDown();
              return end;
            });
    FutureTask<Throwable> changed =
        new FutureTask<>(() -> catchThrowable(() -> change.apply(queues)));
    new Thread(changed).start();
    begun.await();
    FutureTask<Throwable> creation =
        new FutureTask<>(
            () ->
                catchThrowable(
                    () -> access.create(admin("x.dlq"), "x.dlq", CONFIG, () -> () -> {})));
    new Thread(creation).start();
    assertThat(soon(creation)).hasMessageContaining("x.dlq");
    assertThat(changed).isNotDone();
    end.completeExceptionally(new BrokerException(BrokerException.Code.STOPPED, "on purpose"));
    assertThat(soon(changed)).isInstanceOf(ApiException.class).hasMessage("on purpose");
  }

  @ParameterizedTest
  @EnumSource
  void change_isMade(Change change) throws Exception {
    change.apply(queues((proxy, method, arguments) -> invoke(method, arguments)));
    assertThat(broker.queue("x.dlq").isPresent()).isEqualTo(change != Change.DELETE);
  }

  /**
   * Others have deleted the queue and made another of its name since the permission was checked.
   */
  @Test
  void updateAfterAConcurrentChange_isCheckedAgain() throws Exception {
    QueueOperations queues =
        queues(
            (proxy, method, arguments) -> {
              broker.deleteQueue("x");
              broker.createQueue("x.dlq");
              return CompletableFuture.failedFuture(
                  new BrokerException(BrokerException.Code.REVISION_MISMATCH, "it has changed"));
            });
    assertThatThrownBy(() -> Change.UPDATE.apply(queues))
        .isInstanceOf(ApiException.class)
        .hasMessageContaining("admin on x.dlq");
  }

  @Test
  void updateAfterAConcurrentChange_isMade() throws Exception {
    CountDownLatch tries = new CountDownLatch(3);
    QueueOperations queues =
        queues(
            (proxy, method, arguments) -> {
              tries.countDown();
              return tries.getCount() > 0
                  ? CompletableFuture.failedFuture(
                      new BrokerException(BrokerException.Code.REVISION_MISMATCH, "it has changed"))
                  : invoke(method, arguments);
            });
    Change.UPDATE.apply(queues);
    assertThat(tries.getCount()).isZero();
  }

  @Test
  void updateOfARevisionThatHasPassed_isRefused() throws Exception {
    QueueOperations queues = queues((proxy, method, arguments) -> invoke(method, arguments));
    assertThatThrownBy(() -> queues.update(admin("x"), "x", before -> before, "0.0"))
        .isInstanceOf(BrokerException.class)
        .hasMessageContaining("the queue has changed");
  }

  /** The broker goes through all queues, or all fairness keys of one. */
  @Test
  void changesOverHttp_takeTurns() throws Exception {
    QueueOperations queues = queues((proxy, method, arguments) -> invoke(method, arguments));
    assertThat(new QueueRoutes(queues).routes())
        .filteredOn(
            route ->
                List.of("PUT", "PATCH").contains(route.method())
                    || (route.method() + route.template()).equals("POST/v1/queues"))
        .hasSize(3)
        .allMatch(HttpRoute::lists);
  }
}
