package dev.sluice.server.grpc;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.WireFormat;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.transport.RequestSizeLimits;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/*
 * The protobuf parser makes an object of each field: 24 MiB of empty map entries, or of unknown
 * fields, become several hundred MiB of heap. This class walks over the bytes without allocating,
 * and skips strings and bytes. Groups, which proto3 does not have, are refused, because skipping
 * one can take a stack as deep as the request is long.
 */

/**
 * Counts the fields of a gRPC request, nested ones included, and the entries of each list and map,
 * before it is parsed.
 */
public final class ProtobufSizeChecker {
  /** The lists and maps that {@link RequestSizeLimits} bounds, by number. */
  private final Map<Integer, Bounded> bounded = new HashMap<>();

  /** The fields that are messages, by number. */
  private final Map<Integer, Nested> messages = new HashMap<>();

  /** A list or map, and the index of its counter. */
  private record Bounded(String field, int place) {}

  /**
   * A field that is a message.
   *
   * @param single whether it may occur only once
   * @param place its index among the fields that are messages
   */
  private record Nested(String field, boolean single, int place, ProtobufSizeChecker bounds) {}

  private ProtobufSizeChecker(Descriptor type) {
    for (FieldDescriptor each : type.getFields()) {
      if (each.isRepeated() && RequestSizeLimits.BY_FIELD.containsKey(each.getName())) {
        bounded.put(each.getNumber(), new Bounded(each.getName(), bounded.size()));
      }
      if (each.getJavaType() == FieldDescriptor.JavaType.MESSAGE) {
        messages.put(
            each.getNumber(),
            new Nested(
                each.getName(),
                !each.isRepeated(),
                messages.size(),
                new ProtobufSizeChecker(each.getMessageType())));
      }
    }
  }

  /** Returns the bounds of a request type, which must not contain itself. */
  public static ProtobufSizeChecker of(Descriptor type) {
    return new ProtobufSizeChecker(type);
  }

  /**
   * Reads a request to its end and returns the number of its fields.
   *
   * @throws ApiException if it has more fields or entries than {@link RequestSizeLimits} allows
   * @throws IOException if it is not valid protobuf
   */
  public int check(CodedInputStream request) throws IOException {
    return walk(request, 0);
  }

  /** Returns the number of fields so far: {@code before} and those of this message. */
  private int walk(CodedInputStream in, int before) throws IOException {
    int parts = before;
    int[] entries = new int[bounded.size()];
    boolean[] seen = new boolean[messages.size()];
    for (int tag; (tag = in.readTag()) != 0; ) {
      if (++parts > RequestSizeLimits.MAX_PARTS) {
        throw ApiException.invalid(
            "a request must have at most %d fields, but has more"
                .formatted(RequestSizeLimits.MAX_PARTS));
      }
      int wireType = WireFormat.getTagWireType(tag);
      int number = WireFormat.getTagFieldNumber(tag);
      Bounded list = bounded.get(number);
      if (list != null && ++entries[list.place()] > RequestSizeLimits.of(list.field())) {
        throw ApiException.invalid(RequestSizeLimits.rule(list.field()));
      }
      Nested inside = messages.get(number);
      if (wireType == WireFormat.WIRETYPE_START_GROUP) {
        throw new InvalidProtocolBufferException("a group");
      }
      if (inside == null || wireType != WireFormat.WIRETYPE_LENGTH_DELIMITED) {
        in.skipField(tag);
      } else {
        requireOnce(inside, seen);
        int outside = in.pushLimit(in.readRawVarint32());
        parts = inside.bounds().walk(in, parts);
        in.checkLastTagWas(0);
        in.popLimit(outside);
      }
    }
    return parts;
  }

  /**
   * Refuses a second occurrence of a field that is a single message. The parser would merge both,
   * lists and maps included, so that lists within their bound become one beyond it.
   */
  private static void requireOnce(Nested message, boolean[] seen) {
    if (message.single() && seen[message.place()]) {
      throw ApiException.invalid(
          "%s must occur once in its message, but occurs again".formatted(message.field()));
    }
    seen[message.place()] = true;
  }
}
