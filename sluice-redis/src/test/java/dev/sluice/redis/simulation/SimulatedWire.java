package dev.sluice.redis.simulation;

import dev.sluice.redis.internal.connection.LuaScript;
import dev.sluice.redis.internal.connection.SimulatedLink;
import java.io.IOException;
import java.net.ConnectException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The network between one node and Redis. A connection keeps the order of requests and of answers;
 * two connections of a node have no order between them. Broken connections are made anew by
 * themselves, as Lettuce does.
 */
public final class SimulatedWire implements SimulatedLink.Wire {
  private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long RETRY_NANOS = 30 * MILLI;
  private static final long LOAD_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final Scheduler scheduler;
  private final SimulatedServer server;
  private final Random random;
  private final SimulatedMember node;
  private @Nullable Line line;
  private boolean wired;
  private Runnable told = () -> {};
  private final Ear ear = new Ear();

  // Faults.
  private long slowNanos;
  private int lostRequestsInHundred;
  private int lostAnswersInHundred;
  private boolean cut;
  private String muteScript = "";
  private int answersToLose;
  private Runnable onceMute = () -> {};
  private long requestsHeldUntil;
  private long answersHeldUntil;

  /** One TCP connection. */
  private final class Line {
    final int number = server.newLine();
    final int life = server.life();
    final Map<Sent, BiConsumer<@Nullable List<Object>, @Nullable Throwable>> open =
        new LinkedHashMap<>();
    boolean broken;
    boolean losesRest;
    long lastArrival;
    long lastAnswer;
    long heldUntil;
  }

  private final class Sent extends Request {
    private final Line on;

    Sent(Line on, @Nullable LuaScript script, String[] keys, String[] arguments) {
      super(node.name(), on.number, on.life, script, keys, arguments);
      this.on = on;
    }

    void send() {
      if (cut || loses(lostRequestsInHundred)) {
        return;
      }
      long at = Math.max(scheduler.nanos() + delay(), Math.max(requestsHeldUntil, on.heldUntil));
      on.lastArrival = Math.max(on.lastArrival + 1, at);
      scheduler.after(on.lastArrival - scheduler.nanos(), this::arrive);
    }

    private void arrive() {
      if (!(on.broken && on.losesRest)) {
        server.arrive(this);
      }
    }

    @Override
    void answered(long nanos, @Nullable List<Object> answer, @Nullable Throwable failure) {
      if (on.broken || cut || loses(lostAnswersInHundred) || isMute(this)) {
        return;
      }
      on.lastAnswer =
          Math.max(on.lastAnswer + 1, Math.max(answersHeldUntil, scheduler.nanos() + delay()));
      scheduler.receive(
          on.lastAnswer - scheduler.nanos(),
          node,
          () -> {
            var reply = on.open.remove(this);
            if (reply != null) {
              node.receive(nanos, answer, () -> reply.accept(answer, failure));
            }
          });
    }
  }

  SimulatedWire(Scheduler scheduler, SimulatedServer server, Random random, SimulatedMember node) {
    this.scheduler = scheduler;
    this.server = server;
    this.random = random;
    this.node = node;
    server.add(ear);
  }

  /** Another connection, on which messages come; one that is cut off or breaks misses some. */
  private final class Ear implements SimulatedServer.Subscription {
    private final Map<String, Consumer<String>> channels = new HashMap<>();
    private final List<String> received = new ArrayList<>();
    private int life = -1;
    private long lastMessage;
    private boolean opening;

    @Override
    public boolean isOpen() {
      return !channels.isEmpty() && life == server.life() && !server.isDown() && node.isAlive();
    }

    @Override
    public void send(String channel, String message) {
      Consumer<String> told = channels.get(channel);
      if (told == null || cut || loses(lostAnswersInHundred)) {
        return;
      }
      int sent = life;
      lastMessage =
          Math.max(lastMessage + 1, Math.max(answersHeldUntil, scheduler.nanos() + delay()));
      scheduler.receive(
          lastMessage - scheduler.nanos(),
          node,
          () -> {
            if (life == sent) {
              received.add(message);
              told.accept(message);
            }
          });
    }

    void tend() {
      if (!opening && !channels.isEmpty() && life != server.life()) {
        opening = true;
        scheduler.after(
            2 * delay(),
            node,
            () -> {
              opening = false;
              life = server.answers() && !cut ? server.life() : life;
            });
      }
    }
  }

  /** Returns whether the node has received a message with a word. */
  public boolean hasReceived(String word) {
    return ear.received.stream().anyMatch(each -> List.of(each.split(" ")).contains(word));
  }

  private boolean loses(int inHundred) {
    return inHundred > 0 && random.nextInt(100) < inHundred;
  }

  /** Returns whether the answer is lost because of what was asked. */
  private boolean isMute(Request request) {
    if (answersToLose == 0 || !String.valueOf(request.script()).equals(muteScript)) {
      return false;
    }
    answersToLose--;
    if (answersToLose == 0) {
      onceMute.run();
    }
    return true;
  }

  private long delay() {
    long usual = MILLI / 10 + random.nextInt((int) MILLI);
    return usual + (slowNanos > 0 ? (long) (random.nextDouble() * slowNanos) : 0);
  }

  // ---- faults

  /** Delays what is sent by up to so much; 0 ends that. */
  public void slow(long nanos) {
    slowNanos = nanos;
  }

  /** Loses some of what is sent; 0 ends that. */
  public void lose(int requestsInHundred, int answersInHundred) {
    lostRequestsInHundred = requestsInHundred;
    lostAnswersInHundred = answersInHundred;
  }

  /** Loses the next answers to a script, by its name, and then does something. */
  public void loseAnswersTo(String script, int count, Runnable then) {
    muteScript = script;
    answersToLose = count;
    onceMute = then;
  }

  /** Everything vanishes, and nobody is told. */
  public void cut(boolean now) {
    cut = now;
  }

  /** Holds what is sent, on all connections, and lets it go later. */
  public void hold(boolean requests, boolean answers, long nanos) {
    long until = scheduler.nanos() + nanos;
    requestsHeldUntil = requests ? Math.max(requestsHeldUntil, until) : requestsHeldUntil;
    answersHeldUntil = answers ? Math.max(answersHeldUntil, until) : answersHeldUntil;
  }

  /** Holds the requests of the present connection; one that is made later overtakes it. */
  public void holdLine(long nanos) {
    Line present = line;
    if (present != null) {
      present.heldUntil = Math.max(present.heldUntil, scheduler.nanos() + nanos);
    }
  }

  /** The connection breaks, and the node notices. */
  public void breakLine() {
    Line present = line;
    if (present != null) {
      scheduler.after(0, node, told);
      boolean losesRest = random.nextBoolean();
      ear.life = losesRest ? -1 : ear.life;
      end(present, losesRest);
      reconnectLater();
    }
  }

  /** The node is dead; what it has sent may still come. */
  void die() {
    wired = false;
    Line present = line;
    if (present != null) {
      present.broken = true;
      present.losesRest = random.nextBoolean();
    }
  }

  private void end(Line present, boolean losesRest) {
    present.broken = true;
    present.losesRest = losesRest;
    line = null;
    List<BiConsumer<@Nullable List<Object>, @Nullable Throwable>> replies =
        new ArrayList<>(present.open.values());
    present.open.clear();
    replies.forEach(
        reply ->
            scheduler.after(
                0, node, () -> reply.accept(null, new IOException("connection reset"))));
  }

  // ---- what the node does

  @Override
  public boolean isConnected() {
    return wired;
  }

  @Override
  public CompletableFuture<Void> connect(long millis) {
    CompletableFuture<Void> connected = new CompletableFuture<>();
    long until = scheduler.nanos() + millis * MILLI;
    tryToConnect(until, connected);
    return connected;
  }

  private void tryToConnect(long until, CompletableFuture<Void> connected) {
    scheduler.after(
        2 * delay(),
        node,
        () -> {
          if (server.isDown() && !cut) {
            connected.completeExceptionally(new ConnectException("refused"));
          } else if (server.answers() && !cut) {
            wired = true;
            line = new Line();
            connected.complete(null);
          } else if (scheduler.nanos() >= until) {
            connected.completeExceptionally(new TimeoutException("no answer"));
          } else {
            scheduler.after(RETRY_NANOS, node, () -> tryToConnect(until, connected));
          }
        });
  }

  private void reconnectLater() {
    scheduler.after(
        RETRY_NANOS + 2 * delay(),
        node,
        () -> {
          if (wired && line == null) {
            if (server.answers() && !cut) {
              line = new Line();
            } else {
              reconnectLater();
            }
          }
        });
  }

  @Override
  public void disconnect() {
    wired = false;
    Line present = line;
    if (present != null) {
      end(present, random.nextInt(4) == 0);
    }
  }

  @Override
  public void run(
      LuaScript script,
      String[] keys,
      String[] arguments,
      BiConsumer<@Nullable List<Object>, @Nullable Throwable> reply) {
    Line present = line;
    if (present == null || present.broken) {
      reply.accept(null, new IOException("not connected"));
      return;
    }
    Sent request = new Sent(present, script, keys, arguments);
    if (node.isLeaving()) {
      // A node that leaves waits for the answer by real time; it goes without.
      reply.accept(null, new IOException("no answer"));
    } else {
      present.open.put(request, reply);
    }
    request.send();
  }

  @Override
  public void subscribe(String channel, Consumer<String> message) {
    ear.channels.put(channel, message);
    ear.tend();
  }

  @Override
  public void tendSubscriptions() {
    ear.tend();
  }

  @Override
  public void onBreak(Runnable work) {
    told = work;
  }

  @Override
  public CompletableFuture<Void> load() {
    CompletableFuture<Void> loaded = new CompletableFuture<>();
    Line present = line;
    if (present == null) {
      return CompletableFuture.failedFuture(new IOException("not connected"));
    }
    Sent request = new Sent(present, null, new String[0], new String[0]);
    present.open.put(request, (answer, failure) -> loaded.complete(null));
    request.send();
    scheduler.after(LOAD_NANOS, node, () -> loaded.complete(null));
    return loaded;
  }
}
