package dev.stagger.webhooks;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The client against a running dispatcher, which STAGGER_URL and STAGGER_KEY name. Run it with {@code -ea}. */
public final class ClientTest {
    record Received(Map<String, String> headers, byte[] body) {}

    /** A server that keeps what it gets; answers with these statuses first, then with 204. */
    static final class Receiver implements AutoCloseable {
        final LinkedBlockingQueue<Received> got = new LinkedBlockingQueue<>();
        private final HttpServer server;

        Receiver(List<Integer> statuses, Map<String, String> headers) throws Exception {
            var left = new ArrayDeque<>(statuses);
            server = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 0);
            server.createContext("/", exchange -> {
                var body = exchange.getRequestBody().readAllBytes();
                var seen = new HashMap<String, String>();
                exchange.getRequestHeaders().forEach((name, values) -> seen.put(name.toLowerCase(), values.get(0)));
                headers.forEach(exchange.getResponseHeaders()::set);
                // Before the answer: a test looks at it as soon as its call has ended.
                got.add(new Received(seen, body));
                exchange.sendResponseHeaders(left.isEmpty() ? 204 : left.poll(), -1);
                exchange.close();
            });
            server.start();
        }

        String url() {
            return "http://127.0.0.1:" + server.getAddress().getPort() + "/";
        }

        @Override
        public void close() {
            server.stop(0);
        }
    }

    interface Action {
        void run() throws Exception;
    }

    static <E extends Exception> E refused(Class<E> kind, Action action) {
        try {
            action.run();
        } catch (Exception error) {
            assert kind.isInstance(error) : error;
            return kind.cast(error);
        }
        throw new AssertionError("it was not refused");
    }

    static Transport transport(String url, List<Duration> waits) {
        return new Transport(url, "key", Duration.ofSeconds(10), 4, Duration.ofSeconds(60), waits::add);
    }

    static void deliversAndVerifies(String url, String adminKey) throws Exception {
        var made = new StaggerClient(url, adminKey).api().createApplication(Map.of("name", "java"));
        var app = (String) made.get("id");
        var api = new StaggerClient(url, (String) made.get("key")).api();
        try (var receiver = new Receiver(List.of(), Map.of())) {
            var endpoint = api.createEndpoint(app, Map.of("url", receiver.url()));
            var body = Map.of("event_type", "invoice.paid", "payload", Map.of("amount", 10));
            var sent = api.sendMessage(app, body, "invoice-17");
            assert sent.get("repeated").equals(false) : sent;
            var again = api.sendMessage(app, body, "invoice-17");
            assert again.get("id").equals(sent.get("id")) && again.get("repeated").equals(true) : again;
            var got = receiver.got.poll(60, TimeUnit.SECONDS);
            var webhook = new Webhook((String) endpoint.get("secret"));
            var headers = got.headers();
            var signature = headers.get("webhook-signature");
            webhook.verify(got.body(), headers.get("webhook-id"), headers.get("webhook-timestamp"), signature);
            refused(SignatureException.class, () -> webhook.verify(
                    new byte[0], headers.get("webhook-id"), headers.get("webhook-timestamp"), signature));
            assert Json.read(new String(got.body(), StandardCharsets.UTF_8)).equals(Map.of("amount", 10L));
            var bytes = new byte[] {0, (byte) 255};
            var raw = api.sendRawMessage(app, Map.of("event_type", "raw.bytes"), bytes, "application/x-test");
            assert java.util.Arrays.equals(api.getPayload(app, (String) raw.get("id")), bytes);
            var all = StaggerClient.all(query -> api.listMessages(app, query), Map.of("limit", 1));
            assert all.size() == 2 && ((Map<?, ?>) all.get(1)).get("id").equals(sent.get("id")) : all;
            api.deleteEndpoint(app, (String) endpoint.get("id"));
        }
        var wrong = refused(ApiException.class, () -> api.createEndpoint(app, Map.of("url", "ftp://example.com/")));
        assert wrong.status() == 400 && "url".equals(wrong.problem().get("field")) : wrong;
        var stranger = new StaggerClient(url, "sk_wrong").api();
        assert refused(ApiException.class, () -> stranger.getApplication(app)).status() == 401;
        assert refused(ApiException.class, () -> api.getApplication("app_/../../audit")).status() == 404;
    }

    static void retries() throws Exception {
        var waits = new ArrayList<Duration>();
        try (var server = new Receiver(List.of(503, 429), Map.of("Retry-After", "7"))) {
            transport(server.url(), waits).call("POST", "/x", Map.of(), Content.json(Map.of()), Transport.newKey());
            assert server.got.size() == 3 : server.got;
            var keys = new HashSet<String>();
            server.got.forEach(got -> keys.add(got.headers().get("idempotency-key")));
            assert keys.size() == 1 : keys;
            assert waits.stream().allMatch(wait -> wait.toMillis() >= 7000 && wait.toMillis() <= 7400) : waits;
        }
        for (var row : List.of(List.of(503, 1), List.of(429, 2), List.of(400, 1))) {
            try (var server = new Receiver(List.of(row.get(0)), Map.of())) {
                try {
                    transport(server.url(), waits).call("POST", "/x", Map.of(), Content.none(), null);
                } catch (ApiException error) {
                    assert error.status() == row.get(0) : error;
                }
                assert server.got.size() == row.get(1) : row;
            }
        }
        try (var server = new Receiver(List.of(503), Map.of("Retry-After", "3600"))) {
            var error = refused(ApiException.class,
                    () -> transport(server.url(), waits).call("GET", "/x", Map.of(), Content.none(), null));
            assert error.retryAfter().equals(Duration.ofHours(1)) && server.got.size() == 1 : error;
        }
        var refused = transport("http://127.0.0.1:9", waits);
        for (var call = 0; call < 20; call++) {
            refused(TransportException.class, () -> refused.call("GET", "/x", Map.of(), Content.none(), null));
        }
        assert !refused.budget.take();
        var budget = new RetryBudget();
        var retries = 0;
        for (var call = 0; call < 1000; call++) {
            budget.onCall();
            while (budget.take()) {
                retries++;
            }
        }
        assert retries >= 100 && retries <= 110 : retries;
    }

    static void signatures() throws Exception {
        // The example of the specification.
        var secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        var id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        var signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        var body = "{\"test\": 2432232314}".getBytes(StandardCharsets.UTF_8);
        var time = "1614265330";
        var webhook = new Webhook(secret);
        webhook.verify(body, id, time, signature, Instant.ofEpochSecond(1614265330));
        webhook.verify(body, id, time, "v1a,AAAA v1,!! " + signature, Instant.ofEpochSecond(1614265630));
        for (var now : List.of(1614265631L, 1614265029L)) {
            refused(SignatureException.class, () -> webhook.verify(body, id, time, signature, Instant.ofEpochSecond(now)));
        }
        var other = "whsec_" + "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4";
        refused(SignatureException.class,
                () -> new Webhook(other).verify(body, id, time, signature, Instant.ofEpochSecond(1614265330)));
        new Webhook(other, secret).verify(body, id, time, signature, Instant.ofEpochSecond(1614265330));
        refused(IllegalArgumentException.class, () -> new Webhook("whsk_AAAA"));
    }

    static void json() {
        var text = "{\"a\":[1,-2.5,true,null,\"\\u00e4\\n\\\"\"],\"b\":{}}";
        assert Json.write(Json.read(text)).equals("{\"a\":[1,-2.5,true,null,\"\u00e4\\u000a\\\"\"],\"b\":{}}");
        for (var wrong : List.of("", "{", "[1,]", "{\"a\" 1}", "nul", "1 2", "\"a", "[".repeat(200))) {
            refused(IllegalArgumentException.class, () -> Json.read(wrong));
        }
    }

    public static void main(String[] arguments) throws Exception {
        var enabled = false;
        assert enabled = true;
        if (!enabled) {
            throw new IllegalStateException("run it with -ea");
        }
        json();
        signatures();
        retries();
        deliversAndVerifies(System.getenv("STAGGER_URL"), System.getenv("STAGGER_KEY"));
        System.out.println("4 tests passed");
    }
}
