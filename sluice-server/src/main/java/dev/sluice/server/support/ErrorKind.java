package dev.sluice.server.support;

import dev.sluice.proto.v1.ErrorCode;
import io.grpc.Status;

/** The kinds of errors, and their codes in each protocol. */
public enum ErrorKind {
  INVALID_ARGUMENT(400, Status.Code.INVALID_ARGUMENT, ErrorCode.INVALID_ARGUMENT),
  UNAUTHENTICATED(401, Status.Code.UNAUTHENTICATED, ErrorCode.UNAUTHENTICATED),
  PERMISSION_DENIED(403, Status.Code.PERMISSION_DENIED, ErrorCode.PERMISSION_DENIED),
  NOT_FOUND(404, Status.Code.NOT_FOUND, ErrorCode.NOT_FOUND),
  ALREADY_EXISTS(409, Status.Code.ALREADY_EXISTS, ErrorCode.ALREADY_EXISTS),
  FAILED_PRECONDITION(412, Status.Code.FAILED_PRECONDITION, ErrorCode.FAILED_PRECONDITION),
  RESOURCE_EXHAUSTED(429, Status.Code.RESOURCE_EXHAUSTED, ErrorCode.RESOURCE_EXHAUSTED),
  INTERNAL(500, Status.Code.INTERNAL, ErrorCode.INTERNAL),
  UNAVAILABLE(503, Status.Code.UNAVAILABLE, ErrorCode.UNAVAILABLE);

  public final int http;
  final Status.Code grpc;
  final ErrorCode wire;

  ErrorKind(int http, Status.Code grpc, ErrorCode wire) {
    this.http = http;
    this.grpc = grpc;
    this.wire = wire;
  }
}
