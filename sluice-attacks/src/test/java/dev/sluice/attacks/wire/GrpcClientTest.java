package dev.sluice.attacks.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** Attacks that read their answers get all of them. */
final class GrpcClientTest {
  private static final int BYTES = 100;

  private static String hex(Frame frame) {
    return HexFormat.of().formatHex(frame.encode());
  }

  @Test
  void receivedData_renewsTheWindowsOfConnectionAndStream() throws IOException {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket socket = new Socket(server.getInetAddress(), server.getLocalPort());
        Socket accepted = server.accept()) {
      ByteArrayOutputStream sent = new ByteArrayOutputStream();
      GrpcClient client = new GrpcClient(new Http2(socket, sent), "");
      int stream = client.open("/a.B/C");
      Frame data = new Frame(Frame.DATA, 0, stream, new byte[BYTES]);
      byte[] status = Hpack.encode("grpc-status", "0");
      Frame end = new Frame(Frame.HEADERS, Frame.END_STREAM | Frame.END_HEADERS, stream, status);
      accepted.getOutputStream().write(data.encode());
      accepted.getOutputStream().write(end.encode());
      assertThat(client.await(stream).status()).isZero();
      assertThat(HexFormat.of().formatHex(sent.toByteArray()))
          .contains(hex(Frame.ofInt(Frame.WINDOW_UPDATE, 0, BYTES)))
          .contains(hex(Frame.ofInt(Frame.WINDOW_UPDATE, stream, BYTES)));
    }
  }
}
