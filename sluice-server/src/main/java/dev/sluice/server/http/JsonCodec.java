package dev.sluice.server.http;

import static com.fasterxml.jackson.annotation.JsonInclude.Include.NON_NULL;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.ErrorReportConfiguration;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.PropertyNamingStrategy;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.exc.InvalidFormatException;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.type.LogicalType;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.transport.RequestSizeLimits;
import dev.sluice.server.transport.ResponseMemoryBudget;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Set;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Reads JSON strictly: an unknown field, or one of another type, is an error that names the field.
 *
 * <p>Everything that can make a body expensive is bounded here: its depth, the length of names and
 * numbers, and the number of tokens. Names are not canonicalized: Jackson's table of names has no
 * defense against many that have the same hash.
 */
public final class JsonCodec {
  private static final int MAX_DEPTH = 32;
  private static final int MAX_NAME = 1_024;
  private static final int MAX_NUMBER = 100;

  /** The most characters of an invalid token in an error. */
  private static final int MAX_SHOWN = 64;

  public static final JsonMapper MAPPER = mapper(PropertyNamingStrategies.SNAKE_CASE);
  public static final JsonMapper CAMEL = mapper(PropertyNamingStrategies.LOWER_CAMEL_CASE);

  private JsonCodec() {}

  private static JsonMapper mapper(PropertyNamingStrategy names) {
    StreamReadConstraints constraints =
        StreamReadConstraints.builder()
            .maxStringLength(Integer.MAX_VALUE) // a body is bounded as it is
            .maxNestingDepth(MAX_DEPTH)
            .maxNameLength(MAX_NAME)
            .maxNumberLength(MAX_NUMBER)
            .maxTokenCount(RequestSizeLimits.MAX_PARTS)
            .build();
    JsonFactory factory =
        JsonFactory.builder()
            .streamReadConstraints(constraints)
            .errorReportConfiguration(
                ErrorReportConfiguration.builder().maxErrorTokenLength(MAX_SHOWN).build())
            .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
            .build();
    JsonMapper mapper =
        JsonMapper.builder(factory)
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(DeserializationFeature.FAIL_ON_NUMBERS_FOR_ENUMS)
            .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
            .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
            .propertyNamingStrategy(names)
            .defaultPropertyInclusion(JsonInclude.Value.construct(NON_NULL, NON_NULL))
            .build();
    // A number is no text.
    mapper
        .coercionConfigFor(LogicalType.Textual)
        .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
        .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
        .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail);
    return mapper;
  }

  /** Charges {@code room} for the objects that are made of a large body. */
  public static <T> T read(byte[] json, LongPredicate room, Class<T> type) {
    return read(MAPPER, json, room, type);
  }

  /**
   * Reads JSON with names such as {@code actualTokens}, as the source documents of the governor
   * have them.
   */
  static <T> T readCamel(byte[] json, LongPredicate room, Class<T> type) {
    return read(CAMEL, json, room, type);
  }

  private static <T> T read(JsonMapper mapper, byte[] json, LongPredicate room, Class<T> type) {
    try {
      return read(mapper, new BoundedJsonParser(mapper.createParser(json), room), type);
    } catch (IOException malformed) {
      throw ApiException.invalid(explain(malformed));
    }
  }

  /** Reads a whole body, and closes {@code parser} in any case. */
  public static <T> T read(JsonMapper mapper, BoundedJsonParser parser, Class<T> type) {
    try (parser) {
      T value = mapper.readValue(parser, type);
      if (value == null) {
        throw ApiException.invalid("body must be a JSON object, but was null");
      }
      return value;
    } catch (IOException malformed) {
      if (parser.hasNoRoom()) {
        throw ResponseMemoryBudget.exhausted("this body");
      }
      String rule = parser.brokenRule();
      throw ApiException.invalid(rule == null ? explain(malformed) : rule);
    }
  }

  /**
   * Returns whether {@code json} is an object whose first field has that name. Reads no further
   * than that name.
   */
  public static boolean startsWithField(byte[] json, String name) {
    try (JsonParser parser = MAPPER.createParser(json)) {
      return parser.nextToken() == JsonToken.START_OBJECT && name.equals(parser.nextFieldName());
    } catch (IOException malformed) {
      return false;
    }
  }

  /** Returns the names of the fields of an object, including those that are null. */
  public static Set<String> fields(byte[] json) {
    Set<String> names = new LinkedHashSet<>();
    try (JsonParser parser = new BoundedJsonParser(MAPPER.createParser(json), bytes -> true)) {
      parser.nextToken();
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        names.add(parser.currentName());
        parser.nextToken();
        parser.skipChildren();
      }
    } catch (IOException malformed) {
      throw ApiException.invalid(explain(malformed));
    }
    return names;
  }

  public static byte[] write(Object value) {
    return write(MAPPER, value);
  }

  /** Writes JSON with the names of {@link #readCamel}. */
  public static byte[] writeCamel(Object value) {
    return write(CAMEL, value);
  }

  private static byte[] write(JsonMapper mapper, Object value) {
    try {
      return mapper.writeValueAsBytes(value);
    } catch (JsonProcessingException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }

  private static String explain(IOException failure) {
    if (constraint(failure) instanceof StreamConstraintsException bound) {
      return "body must have at most %d tokens, names of %d and numbers of %d characters, %d levels: %s"
          .formatted(
              RequestSizeLimits.MAX_PARTS,
              MAX_NAME,
              MAX_NUMBER,
              MAX_DEPTH,
              bound.getOriginalMessage());
    }
    if (failure instanceof UnrecognizedPropertyException unknown) {
      return "unknown field %s; known are %s"
          .formatted(path(unknown), unknown.getKnownPropertyIds());
    }
    if (failure instanceof InvalidFormatException format) {
      return "%s must be %s, but was %s".formatted(path(format), words(format), format.getValue());
    }
    if (failure instanceof MismatchedInputException mismatch) {
      return mismatch.getPath().isEmpty() && mismatch.getLocation() == null
          ? "body must be a JSON object"
          : "%s must be %s%s".formatted(path(mismatch), words(mismatch), where(mismatch));
    }
    if (failure instanceof JsonMappingException mapping && !mapping.getPath().isEmpty()) {
      return "%s is malformed: %s".formatted(path(mapping), mapping.getOriginalMessage());
    }
    return failure instanceof JsonProcessingException parsing
        ? "body must be JSON: %s%s".formatted(parsing.getOriginalMessage(), where(parsing))
        : "body must be JSON: " + failure.getMessage();
  }

  /** Returns the violated bound, which is the cause if a mapping failed because of it. */
  private static @Nullable Throwable constraint(IOException failure) {
    return failure instanceof JsonMappingException ? failure.getCause() : failure;
  }

  private static String path(JsonMappingException failure) {
    StringBuilder path = new StringBuilder();
    for (JsonMappingException.Reference each : failure.getPath()) {
      if (each.getFieldName() == null) {
        path.append('[').append(each.getIndex()).append(']');
      } else {
        path.append(path.length() == 0 ? "" : ".").append(each.getFieldName());
      }
    }
    return path.length() == 0 ? "body" : path.toString();
  }

  private static String words(MismatchedInputException mismatch) {
    Class<?> wanted = mismatch.getTargetType();
    if (wanted == null) {
      return "of another type";
    }
    if (wanted.isEnum()) {
      return "one of " + Arrays.toString(wanted.getEnumConstants());
    }
    if (wanted == String.class) {
      return "text";
    }
    if (Number.class.isAssignableFrom(wanted) || wanted.isPrimitive()) {
      return wanted == Double.class || wanted == double.class
          ? "a number"
          : "a whole number that fits " + wanted.getSimpleName().toLowerCase(Locale.ROOT);
    }
    if (wanted == Boolean.class) {
      return "true or false";
    }
    return Collection.class.isAssignableFrom(wanted) ? "a list" : "an object";
  }

  private static String where(JsonProcessingException failure) {
    JsonLocation location = failure.getLocation();
    return location == null
        ? ""
        : " (line %d, column %d)".formatted(location.getLineNr(), location.getColumnNr());
  }
}
