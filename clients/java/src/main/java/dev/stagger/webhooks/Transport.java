package dev.stagger.webhooks;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** Requests to the dispatcher: connections, retries, and refusals as exceptions. */
final class Transport {
    /** The ceiling of the first delay and of the longest one, in milliseconds. */
    private static final long BASE_DELAY = 200;
    private static final long LONGEST_DELAY = 10_000;
    /** Replies that can be another one later. */
    private static final Set<Integer> RETRYABLE = Set.of(429, 500, 502, 503, 504);
    private static final Set<String> REPEATABLE = Set.of("GET", "HEAD", "PUT", "DELETE");

    // A redirect is a refusal: the key goes nowhere else.
    private final HttpClient http =
            HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NEVER).version(HttpClient.Version.HTTP_1_1).build();
    private final String base;
    private final String key;
    private final Duration timeout;
    private final int maxAttempts;
    private final Duration maxWait;
    private final Consumer<Duration> sleep;
    final RetryBudget budget = new RetryBudget();

    Transport(String url, String key, Duration timeout, int maxAttempts, Duration maxWait, Consumer<Duration> sleep) {
        var scheme = URI.create(url).getScheme();
        if (!"http".equals(scheme) && !"https".equals(scheme)) {
            throw new IllegalArgumentException("url = " + url + ": must be an http or https address");
        }
        this.base = url.replaceAll("/+$", "");
        this.key = key;
        this.timeout = timeout;
        this.maxAttempts = maxAttempts;
        this.maxWait = maxWait;
        this.sleep = sleep;
    }

    /** A text as a part of a path. */
    static String segment(String text) {
        var encoded = URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
        // A segment of dots alone would name another path.
        return encoded.equals(".") || encoded.equals("..") ? encoded.replace(".", "%2E") : encoded;
    }

    static String newKey() {
        return UUID.randomUUID().toString();
    }

    static void sleep(Duration time) {
        try {
            Thread.sleep(time.toMillis());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new TransportException("interrupted", interrupted);
        }
    }

    /** Makes a call, which is repeated where that is safe and can help. */
    Reply call(String method, String path, Map<String, ?> query, Content content, String idempotencyKey) {
        var pairs = query.entrySet().stream()
                .filter(pair -> pair.getValue() != null)
                .map(pair -> encoded(pair.getKey()) + "=" + encoded(pair.getValue().toString()))
                .collect(Collectors.joining("&"));
        var uri = URI.create(base + path + (pairs.isEmpty() ? "" : "?" + pairs));
        var request = HttpRequest.newBuilder(uri).timeout(timeout).header("Authorization", "Bearer " + key);
        if (content.bytes() == null) {
            request.method(method, BodyPublishers.noBody());
        } else {
            request.method(method, BodyPublishers.ofByteArray(content.bytes())).header("Content-Type", content.type());
        }
        if (idempotencyKey != null) {
            request.header("Idempotency-Key", idempotencyKey);
        }
        // A message under a key is one message, however often it is sent.
        return attempts(request.build(), idempotencyKey != null || REPEATABLE.contains(method));
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    private Reply attempts(HttpRequest request, boolean repeatable) {
        budget.onCall();
        for (var attempt = 1; ; attempt++) {
            try {
                return attempt(request);
            } catch (ApiException | TransportException error) {
                var delay = delay(error, attempt, repeatable);
                if (delay == null) {
                    throw error;
                }
                sleep.accept(delay);
            }
        }
    }

    /** The wait before the next attempt; null if there is none. */
    private Duration delay(RuntimeException error, int attempt, boolean repeatable) {
        var hint = Duration.ZERO;
        var canHelp = repeatable;
        if (error instanceof ApiException refusal) {
            // 429 says that nothing was done.
            canHelp = refusal.status() == 429 || (repeatable && RETRYABLE.contains(refusal.status()));
            hint = refusal.retryAfter() == null ? Duration.ZERO : refusal.retryAfter();
        }
        if (!canHelp || attempt >= maxAttempts) {
            return null;
        }
        var ceiling = Math.min(LONGEST_DELAY, BASE_DELAY << Math.min(attempt - 1, 20));
        var delay = hint.plusMillis(ThreadLocalRandom.current().nextLong(ceiling + 1));
        return delay.compareTo(maxWait) > 0 || !budget.take() ? null : delay;
    }

    private Reply attempt(HttpRequest request) {
        try {
            var response = http.send(request, BodyHandlers.ofByteArray());
            if (response.statusCode() / 100 == 2) {
                return new Reply(response.body());
            }
            var hint = response.headers().firstValue("Retry-After").filter(text -> text.matches("[0-9]{1,9}"));
            var wait = hint.map(text -> Duration.ofSeconds(Long.parseLong(text))).orElse(null);
            throw new ApiException(response.statusCode(), problem(response.body()), wait);
        } catch (IOException error) {
            throw new TransportException("no reply from " + base + ": " + error, error);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new TransportException("interrupted", interrupted);
        }
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> problem(byte[] body) {
        try {
            var problem = Json.read(new String(body, StandardCharsets.UTF_8));
            return problem instanceof Map ? (Map<String, Object>) problem : Map.of();
        } catch (IllegalArgumentException notJson) {
            return Map.of();
        }
    }
}
