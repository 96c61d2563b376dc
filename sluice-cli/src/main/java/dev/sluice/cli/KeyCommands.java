package dev.sluice.cli;

import dev.sluice.client.ApiKey;
import dev.sluice.client.CreatedKey;
import dev.sluice.client.KeyPermission;
import dev.sluice.client.NewKey;
import dev.sluice.client.OwnKey;
import dev.sluice.client.SluiceClient;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice key}. */
@Command(name = "key", description = "API keys: who may call, and what they may do.")
final class KeyCommands extends CommandGroup {
  private KeyCommands() {}

  static CommandLine of(Surroundings surroundings) {
    return new CommandLine(new KeyCommands())
        .addSubcommand(new Create(surroundings))
        .addSubcommand(new ListKeys(surroundings))
        .addSubcommand(new Show(surroundings))
        .addSubcommand(new WhoAmI(surroundings))
        .addSubcommand(new Allow(surroundings))
        .addSubcommand(new Revoke(surroundings));
  }

  private static KeyPermission permission(String text) {
    int colon = text.indexOf(':');
    if (colon < 1 || colon == text.length() - 1) {
      throw new InvalidInputException(
          "a permission is KIND:PATTERN, such as produce:mail or admin:*: " + Quoted.of(text));
    }
    return new KeyPermission(text.substring(0, colon), text.substring(colon + 1));
  }

  private static Json json(ApiKey key) {
    return Json.object()
        .put("id", key.id())
        .put("name", key.name())
        .put("created_at_ms", key.createdAt().toEpochMilli())
        .put("expires_at_ms", millis(key.expiresAt()))
        .put("superadmin", key.superadmin())
        .putObjects("permissions", json(key.permissions()));
  }

  private static List<Json> json(List<KeyPermission> permissions) {
    return permissions.stream()
        .map(each -> Json.object().put("kind", each.kind()).put("pattern", each.pattern()))
        .toList();
  }

  private static long millis(Optional<Instant> expiresAt) {
    return expiresAt.map(Instant::toEpochMilli).orElse(0L);
  }

  private static String allowed(boolean superadmin, List<KeyPermission> permissions) {
    return superadmin
        ? "everything"
        : permissions.stream()
            .map(each -> each.kind() + ":" + each.pattern())
            .collect(Collectors.joining(" "));
  }

  private static String allowed(ApiKey key) {
    return allowed(key.superadmin(), key.permissions());
  }

  private static String expiry(Optional<Instant> expiresAt) {
    return expiresAt.map(Instant::toString).orElse("never");
  }

  /** {@code sluice key create}. */
  @Command(
      name = "create",
      description = "Make a key. Its secret is shown this once.",
      footer = {
        "",
        "KIND is produce, consume, limit, governor, read or admin; PATTERN is a name, a prefix and",
        ".* or :*, or *. Models are model:NAME.",
        "",
        "Examples:",
        "  sluice key create billing --allow produce:mail --allow 'consume:mail.*'",
        "  sluice key create prometheus --allow 'read:*'"
      })
  static final class Create extends ServerAction {
    @Parameters(paramLabel = "NAME", description = "For people and logs.")
    private String name = "";

    @Option(
        names = "--allow",
        paramLabel = "KIND:PATTERN",
        description = "What it allows; may be given again.")
    private List<String> permissions = new ArrayList<>();

    @Option(
        names = "--expires",
        paramLabel = "DURATION",
        converter = Converters.PeriodConverter.class,
        description = "When it ends, from now. Default: never.")
    private @Nullable Duration expires;

    @Option(names = "--superadmin", description = "It allows everything.")
    private boolean superadmin;

    Create(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      NewKey wanted = NewKey.of(name, permissions.stream().map(KeyCommands::permission).toList());
      wanted = superadmin ? wanted.asSuperadmin() : wanted;
      wanted = expires == null ? wanted : wanted.withExpiry(Instant.now().plus(expires));
      CreatedKey created = client.administration().createKey(wanted);
      return say(
          Json.object().put("id", created.id()).put("key", created.key()),
          "id   " + created.id(),
          "key  " + created.key());
    }
  }

  /** {@code sluice key list}. */
  @Command(name = "list", description = "The keys that the caller may change.")
  static final class ListKeys extends ServerAction {
    private static final Table<ApiKey> TABLE =
        new Table<>(
            4,
            List.of("ID", "NAME", "EXPIRES", "ALLOWS"),
            key -> List.of(key.id(), key.name(), expiry(key.expiresAt()), allowed(key)));

    ListKeys(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      List<ApiKey> keys = client.administration().keys();
      if (json) {
        List<Json> all = keys.stream().map(KeyCommands::json).toList();
        out().println(Json.object().putObjects("keys", all));
      } else {
        TABLE.print(keys, out());
      }
      return ExitCodes.OK;
    }
  }

  /** A command about one API key. */
  abstract static class OfId extends ServerAction {
    @Parameters(index = "0", paramLabel = "ID", description = "The key's id.")
    String id = "";

    OfId(Surroundings surroundings) {
      super(surroundings);
    }
  }

  /** {@code sluice key show}. */
  @Command(name = "show", description = "One key, without its secret.")
  static final class Show extends OfId {
    Show(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      ApiKey key = client.administration().key(id);
      return say(
          json(key),
          "id       " + key.id(),
          "name     " + key.name(),
          "created  " + key.createdAt(),
          "expires  " + expiry(key.expiresAt()),
          "allows   " + allowed(key));
    }
  }

  /** {@code sluice key whoami}. */
  @Command(name = "whoami", description = "The key that is used, and what it allows.")
  static final class WhoAmI extends ServerAction {
    WhoAmI(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      OwnKey key = client.administration().whoAmI();
      return say(
          Json.object()
              .put("name", key.name())
              .put("expires_at_ms", millis(key.expiresAt()))
              .put("superadmin", key.superadmin())
              .putObjects("permissions", json(key.permissions())),
          "name     " + key.name(),
          "expires  " + expiry(key.expiresAt()),
          "allows   " + allowed(key.superadmin(), key.permissions()));
    }
  }

  /** {@code sluice key allow}. */
  @Command(name = "allow", description = "Replace what a key allows.")
  static final class Allow extends OfId {
    @Parameters(
        index = "1..*",
        arity = "0..*",
        paramLabel = "KIND:PATTERN",
        description = "All that it allows from now on; none: nothing.")
    private List<String> permissions = new ArrayList<>();

    Allow(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      client
          .administration()
          .setPermissions(id, permissions.stream().map(KeyCommands::permission).toList());
      return say(Json.object().put("id", id).put("updated", true), "updated " + id);
    }
  }

  /** {@code sluice key revoke}. */
  @Command(name = "revoke", description = "End a key.")
  static final class Revoke extends OfId {
    @Option(names = "--yes", description = "Do not ask.")
    private boolean yes;

    Revoke(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      confirm(yes, "End key " + Quoted.of(id) + "?");
      client.administration().revokeKey(id);
      return say(Json.object().put("id", id).put("revoked", true), "revoked " + id);
    }
  }
}
