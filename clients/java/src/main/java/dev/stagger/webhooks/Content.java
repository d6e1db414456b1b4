package dev.stagger.webhooks;

import java.nio.charset.StandardCharsets;
import java.util.Map;

/** The body of a request. */
record Content(byte[] bytes, String type) {
    static Content none() {
        return new Content(null, null);
    }

    static Content json(Map<String, ?> body) {
        if (body == null) {
            return none();
        }
        return new Content(Json.write(body).getBytes(StandardCharsets.UTF_8), "application/json");
    }

    static Content bytes(byte[] body, String type) {
        return new Content(body, type);
    }
}
