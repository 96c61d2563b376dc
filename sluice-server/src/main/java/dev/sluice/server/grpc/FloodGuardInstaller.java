package dev.sluice.server.grpc;

import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelInboundHandlerAdapter;
import io.grpc.netty.shaded.io.netty.channel.ChannelPipeline;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslHandler;

/**
 * Inserts a {@link Http2FloodGuard} where a connection carries plain HTTP/2, behind TLS. gRPC
 * offers no hook for foreign handlers and adds TLS after the channel is set up, so this waits for
 * the first byte, when all handlers of gRPC are in place.
 */
final class FloodGuardInstaller extends ChannelInboundHandlerAdapter {
  private final Http2FloodGuard guard;

  FloodGuardInstaller(Http2FloodGuard guard) {
    this.guard = guard;
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object bytes) {
    ChannelPipeline pipeline = context.pipeline();
    ChannelHandlerContext tls = pipeline.context(SslHandler.class);
    String before = tls == null ? context.name() : tls.name();
    pipeline.addAfter(before, null, guard);
    context.fireChannelRead(bytes);
    pipeline.remove(this);
  }
}
