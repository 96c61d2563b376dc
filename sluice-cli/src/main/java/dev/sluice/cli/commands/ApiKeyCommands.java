package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.CommandGroup;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.cli.runtime.OptionConverters;
import dev.sluice.cli.runtime.ServerCommand;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.cli.text.Quoting;
import dev.sluice.cli.text.TextTable;
import dev.sluice.client.ApiKey;
import dev.sluice.client.CreatedApiKey;
import dev.sluice.client.CurrentApiKey;
import dev.sluice.client.NewApiKey;
import dev.sluice.client.Permission;
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

/** {@code sluice api-key}. */
@Command(name = "api-key", description = "Create, list, change and revoke API keys.")
public final class ApiKeyCommands extends CommandGroup {
  private ApiKeyCommands() {}

  public static CommandLine of(CommandContext context) {
    return new CommandLine(new ApiKeyCommands())
        .addSubcommand(new Create(context))
        .addSubcommand(new ApiKeyCommands.ListApiKeys(context))
        .addSubcommand(new Show(context))
        .addSubcommand(new WhoAmI(context))
        .addSubcommand(new Allow(context))
        .addSubcommand(new Revoke(context));
  }

  private static Permission permission(String text) {
    int colon = text.indexOf(':');
    if (colon < 1 || colon == text.length() - 1) {
      throw new InvalidInputException(
          "a permission must be KIND:PATTERN, such as produce:mail or admin:*, but was "
              + Quoting.of(text));
    }
    return new Permission(text.substring(0, colon), text.substring(colon + 1));
  }

  private static JsonWriter json(ApiKey key) {
    return JsonWriter.object()
        .put("id", key.id())
        .put("name", key.name())
        .put("created_at_ms", key.createdAt().toEpochMilli())
        .put("expires_at_ms", millis(key.expiresAt()))
        .put("superadmin", key.superadmin())
        .putObjects("permissions", json(key.permissions()));
  }

  private static List<JsonWriter> json(List<Permission> permissions) {
    return permissions.stream()
        .map(each -> JsonWriter.object().put("kind", each.kind()).put("pattern", each.pattern()))
        .toList();
  }

  private static long millis(Optional<Instant> expiresAt) {
    return expiresAt.map(Instant::toEpochMilli).orElse(0L);
  }

  private static String allowed(boolean superadmin, List<Permission> permissions) {
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

  /** {@code sluice api-key create}. */
  @Command(
      name = "create",
      description = "Create an API key. Its secret is shown only now.",
      footer = {
        "",
        "KIND is produce, consume, limit, governor, read or admin. PATTERN is a name, a prefix",
        "followed by .* or :*, or *. The name of a model is model:NAME.",
        "",
        "Examples:",
        "  sluice api-key create billing --allow produce:mail --allow 'consume:mail.*'",
        "  sluice api-key create prometheus --allow 'read:*'"
      })
  static final class Create extends ServerCommand {
    @Parameters(paramLabel = "NAME", description = "The key's name, for people and logs.")
    private String name = "";

    @Option(
        names = "--allow",
        paramLabel = "KIND:PATTERN",
        description = "A permission of the key; may be repeated.")
    private List<String> permissions = new ArrayList<>();

    @Option(
        names = "--expires",
        paramLabel = "DURATION",
        converter = OptionConverters.PeriodConverter.class,
        description = "Time until the key expires. Default: never.")
    private @Nullable Duration expires;

    @Option(names = "--superadmin", description = "Permit everything.")
    private boolean superadmin;

    Create(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      NewApiKey wanted =
          NewApiKey.of(name, permissions.stream().map(ApiKeyCommands::permission).toList());
      wanted = superadmin ? wanted.asSuperadmin() : wanted;
      wanted = expires == null ? wanted : wanted.withExpiry(Instant.now().plus(expires));
      CreatedApiKey created = client.admin().createApiKey(wanted);
      return say(
          JsonWriter.object().put("id", created.id()).put("secret", created.secret()),
          "id      " + created.id(),
          "secret  " + created.secret());
    }
  }

  /** {@code sluice api-key list}. */
  @Command(name = "list", description = "List the API keys that the caller may change.")
  static final class ListApiKeys extends ServerCommand {
    private static final TextTable<ApiKey> TABLE =
        new TextTable<>(
            4,
            List.of("ID", "NAME", "EXPIRES", "ALLOWS"),
            key -> List.of(key.id(), key.name(), expiry(key.expiresAt()), allowed(key)));

    ListApiKeys(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      List<ApiKey> keys = client.admin().apiKeys();
      if (json) {
        List<JsonWriter> all = keys.stream().map(ApiKeyCommands::json).toList();
        out().println(JsonWriter.object().putObjects("api_keys", all));
      } else {
        TABLE.print(keys, out());
      }
      return ExitCodes.OK;
    }
  }

  /** A command about one API key. */
  abstract static class ApiKeyCommand extends ServerCommand {
    @Parameters(index = "0", paramLabel = "ID", description = "The key's id.")
    String id = "";

    ApiKeyCommand(CommandContext context) {
      super(context);
    }
  }

  /** {@code sluice api-key show}. */
  @Command(name = "show", description = "Show one API key, without its secret.")
  static final class Show extends ApiKeyCommands.ApiKeyCommand {
    Show(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      ApiKey key = client.admin().apiKey(id);
      return say(
          json(key),
          "id       " + key.id(),
          "name     " + key.name(),
          "created  " + key.createdAt(),
          "expires  " + expiry(key.expiresAt()),
          "allows   " + allowed(key));
    }
  }

  /** {@code sluice api-key whoami}. */
  @Command(name = "whoami", description = "Show the API key of this call and its permissions.")
  static final class WhoAmI extends ServerCommand {
    WhoAmI(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      CurrentApiKey key = client.admin().whoAmI();
      return say(
          JsonWriter.object()
              .put("name", key.name())
              .put("expires_at_ms", millis(key.expiresAt()))
              .put("superadmin", key.superadmin())
              .putObjects("permissions", json(key.permissions())),
          "name     " + key.name(),
          "expires  " + expiry(key.expiresAt()),
          "allows   " + allowed(key.superadmin(), key.permissions()));
    }
  }

  /** {@code sluice api-key allow}. */
  @Command(name = "allow", description = "Replace the permissions of an API key.")
  static final class Allow extends ApiKeyCommands.ApiKeyCommand {
    @Parameters(
        index = "1..*",
        arity = "0..*",
        paramLabel = "KIND:PATTERN",
        description = "The new permissions; without any, the key permits nothing.")
    private List<String> permissions = new ArrayList<>();

    Allow(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      client
          .admin()
          .setPermissions(id, permissions.stream().map(ApiKeyCommands::permission).toList());
      return say(JsonWriter.object().put("id", id).put("updated", true), "updated " + id);
    }
  }

  /** {@code sluice api-key revoke}. */
  @Command(name = "revoke", description = "Revoke an API key.")
  static final class Revoke extends ApiKeyCommands.ApiKeyCommand {
    @Option(names = "--yes", description = "Do not ask for confirmation.")
    private boolean yes;

    Revoke(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      confirm(yes, "Revoke API key " + Quoting.of(id) + "?");
      client.admin().revokeApiKey(id);
      return say(JsonWriter.object().put("id", id).put("revoked", true), "revoked " + id);
    }
  }
}
