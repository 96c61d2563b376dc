package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import dev.sluice.server.transport.RequestSizeLimits;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Counts the entries of each list and map of a JSON body while it is parsed, and stops at the first
 * beyond {@link RequestSizeLimits}: no map is ever filled with the names of an attacker. Charges
 * the objects that are made of the tokens to the memory for requests, and stops where that is full.
 */
public final class BoundedJsonParser extends JsonParserDelegate {
  /** The lists and maps that the parser is inside of, the innermost first. */
  private final Deque<Entries> open = new ArrayDeque<>();

  private final LongPredicate room;
  private String name = "";
  private int tokens;
  private boolean noRoom;
  private @Nullable String brokenRule;

  /** The entries that one list or map may still have. */
  private static final class Entries {
    private final String field;
    private final boolean isList;
    private int left;

    Entries(String field, boolean isList) {
      this.field = field;
      this.isList = isList;
      this.left = RequestSizeLimits.BY_FIELD.getOrDefault(field, Integer.MAX_VALUE);
    }
  }

  /** {@code room} takes bytes of memory and returns whether there are so many. */
  public BoundedJsonParser(JsonParser parser, LongPredicate room) {
    super(parser);
    this.room = room;
  }

  /** Returns whether the body was not read to its end for lack of memory. */
  boolean hasNoRoom() {
    return noRoom;
  }

  /** Returns the rule that the body breaks; null if it has broken none so far. */
  @Nullable String brokenRule() {
    return brokenRule;
  }

  @Override
  public @Nullable JsonToken nextToken() throws IOException {
    JsonToken token = super.nextToken();
    if (token != null) {
      charge();
      count(token);
    }
    return token;
  }

  private void charge() throws StreamConstraintsException {
    if (++tokens % RequestSizeLimits.PARTS_AT_ONCE == 0
        && !room.test((long) RequestSizeLimits.PARTS_AT_ONCE * RequestSizeLimits.PART_BYTES)) {
      noRoom = true;
      throw new StreamConstraintsException("no memory");
    }
  }

  private void count(JsonToken token) throws IOException {
    if (token.isStructEnd()) {
      open.pop();
      return;
    }
    Entries around = open.peek();
    if (around != null && around.isList == (token != JsonToken.FIELD_NAME) && around.left-- == 0) {
      brokenRule = RequestSizeLimits.rule(around.field);
      throw new StreamConstraintsException(brokenRule);
    }
    if (token == JsonToken.FIELD_NAME) {
      name = currentName();
    } else if (token.isStructStart()) {
      boolean isEntry = around != null && around.isList;
      open.push(new Entries(isEntry ? "" : name, token == JsonToken.START_ARRAY));
    }
  }

  @Override
  public @Nullable JsonToken nextValue() throws IOException {
    JsonToken token = nextToken();
    return token == JsonToken.FIELD_NAME ? nextToken() : token;
  }

  @Override
  public JsonParser skipChildren() throws IOException {
    JsonToken token = currentToken();
    if (token != null && token.isStructStart()) {
      int outside = open.size() - 1;
      JsonToken next = token;
      while (open.size() > outside && next != null) {
        next = nextToken();
      }
    }
    return this;
  }
}
