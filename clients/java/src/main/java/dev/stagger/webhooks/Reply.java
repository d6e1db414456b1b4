package dev.stagger.webhooks;

import java.nio.charset.StandardCharsets;
import java.util.Map;

/** The body of a reply. */
record Reply(byte[] bytes) {
    void nothing() {}

    @SuppressWarnings("unchecked")
    Map<String, Object> object() {
        return (Map<String, Object>) Json.read(text());
    }

    String text() {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
