package dev.stagger.webhooks;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Verifies received webhooks: Standard Webhooks 1.0.0, HMAC-SHA256 ({@code v1}). */
public final class Webhook {
    /** How far the timestamp may be from the receiver's clock, in seconds. */
    private static final long TOLERANCE = 300;

    private final List<SecretKeySpec> keys = new ArrayList<>();

    /** The secrets of an endpoint, {@code whsec_} and base64: one, or several while one is replaced. */
    public Webhook(String... secrets) {
        if (secrets.length == 0) {
            throw new IllegalArgumentException("secrets = []: must be at least one");
        }
        for (var secret : secrets) {
            var wrong = "secret = (not shown): must be whsec_ and base64";
            if (!secret.startsWith("whsec_")) {
                throw new IllegalArgumentException(wrong);
            }
            try {
                var key = Base64.getDecoder().decode(secret.substring("whsec_".length()));
                keys.add(new SecretKeySpec(key, "HmacSHA256"));
            } catch (IllegalArgumentException notBase64) {
                throw new IllegalArgumentException(wrong);
            }
        }
    }

    /**
     * Checks a message by the bytes of its body as received, and by its headers {@code webhook-id}, {@code
     * webhook-timestamp} and {@code webhook-signature}.
     */
    public void verify(byte[] body, String id, String timestamp, String signatures) throws SignatureException {
        verify(body, id, timestamp, signatures, Instant.now());
    }

    void verify(byte[] body, String id, String timestamp, String signatures, Instant now) throws SignatureException {
        if (id == null || timestamp == null || signatures == null) {
            throw new SignatureException("a header is missing: webhook-id, webhook-timestamp or webhook-signature");
        }
        if (!timestamp.matches("[0-9]{1,12}")) {
            throw new SignatureException("webhook-timestamp is not a number of seconds");
        }
        if (Math.abs(now.getEpochSecond() - Long.parseLong(timestamp)) > TOLERANCE) {
            throw new SignatureException("webhook-timestamp is more than " + TOLERANCE + " s off");
        }
        var head = (id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8);
        for (var part : signatures.split(" ")) {
            var given = part.startsWith("v1,") ? decoded(part.substring(3)) : null;
            for (var key : keys) {
                // This comparison takes the same time for all values.
                if (given != null && MessageDigest.isEqual(signature(key, head, body), given)) {
                    return;
                }
            }
        }
        throw new SignatureException("no signature fits");
    }

    private static byte[] decoded(String base64) {
        try {
            return Base64.getDecoder().decode(base64);
        } catch (IllegalArgumentException notBase64) {
            return null;
        }
    }

    private static byte[] signature(SecretKeySpec key, byte[] head, byte[] body) {
        try {
            var mac = Mac.getInstance("HmacSHA256");
            mac.init(key);
            mac.update(head);
            return mac.doFinal(body);
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException("every Java has HmacSHA256", impossible);
        }
    }
}
