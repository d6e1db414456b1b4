import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.Collections;
import java.util.stream.Collectors;

/** HttpClient through the proxy, as it is made: over plain http it asks for an upgrade to h2c with each new connection. */
public class Client {
    static String proxy;
    static final HttpClient CLIENT = HttpClient.newBuilder().build();

    static HttpRequest.Builder to(String path) {
        return HttpRequest.newBuilder(URI.create(proxy + "/java/" + path)).timeout(Duration.ofSeconds(20));
    }

    static void is(String name, Object got, Object wanted) {
        if (!wanted.equals(got)) throw new AssertionError(name + ": " + got + " instead of " + wanted);
    }

    static String text(HttpRequest.Builder request) throws Exception {
        return CLIENT.send(request.build(), BodyHandlers.ofString()).body();
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("websocket 0");
        proxy = new BufferedReader(new InputStreamReader(System.in)).readLine();
        is("once", text(to("once")), "fine");
        HttpRequest post = to("post").POST(BodyPublishers.ofString("x")).build();
        is("post", CLIENT.send(post, BodyHandlers.ofString()).statusCode(), 503);
        is("keyed", text(to("keyed").header("Idempotency-Key", "\"k\"").POST(BodyPublishers.ofString("x"))), "fine");
        try {
            throw new AssertionError("cut: " + text(to("cut")));
        } catch (IOException broken) {
            // As it must be.
        }
        var parts = Collections.nCopies(32, new byte[65536]);
        is("up", text(to("up").POST(BodyPublishers.ofByteArrays(parts))), "taken");
        try (InputStream body = CLIENT.send(to("down").build(), BodyHandlers.ofInputStream()).body()) {
            is("down", body.readAllBytes().length, 4 << 20);
        }
        var lines = CLIENT.send(to("events").build(), BodyHandlers.ofLines()).body();
        is("events", lines.filter(line -> !line.isEmpty()).collect(Collectors.joining("|")), "data: 1|data: 2");
        try {
            throw new AssertionError("hang: " + text(to("hang").timeout(Duration.ofMillis(300))));
        } catch (HttpTimeoutException late) {
            // As it must be.
        }
        is("tls", text(to("tls")), "sealed");
        System.exit(0);
    }
}
