package dev.sluice.attacks;

import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.GrpcClient;
import dev.sluice.attacks.wire.Http2;
import dev.sluice.attacks.wire.Proto;
import java.io.IOException;
import java.net.Socket;

/** Uses a queue and a limit over gRPC. */
final class GoodGrpcClient implements GoodClient {
  private static final int GRANTED = 1;

  private final GrpcClient client;
  private final String queue;
  private Proto settlement = new Proto();

  GoodGrpcClient(AttackedServer server, String key, String queue) throws IOException {
    this.queue = queue;
    Socket socket = server.connectGrpc();
    client = new GrpcClient(new Http2(socket, socket.getOutputStream()).greet(), key);
  }

  private byte[] call(String path, Proto request) throws IOException {
    GrpcClient.Reply reply = client.call(path, request.encode());
    if (reply.status() != 0) {
      throw new WrongAnswer("gRPC %s: %d %s".formatted(path, reply.status(), reply.problem()));
    }
    return reply.message();
  }

  @Override
  public void enqueue() throws IOException {
    Proto message = new Proto().text(1, PAYLOAD);
    call(Grpc.ENQUEUE, new Proto().text(1, queue).message(2, message));
  }

  @Override
  public void receive() throws IOException {
    byte[] answer = call(Grpc.RECEIVE, new Proto().text(1, queue).number(3, 5_000));
    byte[] delivery = Proto.find(answer, 1).orElseThrow(() -> new WrongAnswer("no message"));
    settlement =
        new Proto()
            .text(1, Proto.findText(delivery, 1).orElse(""))
            .text(2, Proto.findText(delivery, 2).orElse(""))
            .message(3, new Proto());
  }

  @Override
  public void ack() throws IOException {
    byte[] answer = call(Grpc.SETTLE, new Proto().text(1, queue).message(2, settlement));
    if (Proto.find(answer, 1).flatMap(result -> Proto.find(result, 1)).isPresent()) {
      throw new WrongAnswer("the acknowledgement failed");
    }
  }

  @Override
  public void decide() throws IOException {
    Proto cost = new Proto().text(1, Population.GOOD_LIMIT).number(2, 1);
    byte[] answer = call(Grpc.DECIDE, new Proto().message(1, cost));
    byte[] decision = Proto.find(answer, 1).orElseThrow(() -> new WrongAnswer("no decision"));
    if (decision.length < 2 || decision[1] != GRANTED) {
      throw new WrongAnswer("the decision is not to grant");
    }
  }

  @Override
  public void close() throws IOException {
    client.close();
  }
}
