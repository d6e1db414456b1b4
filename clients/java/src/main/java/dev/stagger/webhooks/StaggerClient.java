package dev.stagger.webhooks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** A dispatcher and a key to it. Threads may share a client; they share its retry budget too. */
public final class StaggerClient {
    private final StaggerApi api;

    /** A client with 30 s for an attempt, 4 attempts for a call, and 60 s for the longest wait. */
    public StaggerClient(String url, String key) {
        this(url, key, Duration.ofSeconds(30), 4, Duration.ofSeconds(60));
    }

    /**
     * A client with other bounds.
     *
     * @param timeout the time for one attempt
     * @param maxAttempts the most attempts of a call
     * @param maxWait the longest wait before an attempt, also if Retry-After asks for more
     */
    public StaggerClient(String url, String key, Duration timeout, int maxAttempts, Duration maxWait) {
        this.api = new StaggerApi(new Transport(url, key, timeout, maxAttempts, maxWait, Transport::sleep));
    }

    /** The operations. */
    public StaggerApi api() {
        return api;
    }

    /**
     * All entries of a list, over all its pages. `list` gets the query of a page:
     * {@code client.all(query -> client.api().listMessages(app, query), Map.of())}.
     */
    public static List<Object> all(
            Function<Map<String, Object>, Map<String, Object>> list, Map<String, ?> query) {
        var entries = new ArrayList<>();
        var next = new HashMap<String, Object>(query);
        while (true) {
            var page = list.apply(next);
            entries.addAll((List<?>) page.get("items"));
            if (page.get("next") == null) {
                return entries;
            }
            next.put("cursor", page.get("next"));
        }
    }
}
