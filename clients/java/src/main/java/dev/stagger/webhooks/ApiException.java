package dev.stagger.webhooks;

import java.time.Duration;
import java.util.Map;

/** A refusal of the dispatcher. */
public final class ApiException extends RuntimeException {
    private static final long serialVersionUID = 1;
    private final int status;
    private final transient Map<String, Object> problem;
    private final Duration retryAfter;

    ApiException(int status, Map<String, Object> problem, Duration retryAfter) {
        super(status + ": " + problem.getOrDefault("detail", "no reason is given"));
        this.status = status;
        this.problem = problem;
        this.retryAfter = retryAfter;
    }

    /** The status of the reply. */
    public int status() {
        return status;
    }

    /** The document of the refusal (RFC 9457); empty if there is none. */
    public Map<String, Object> problem() {
        return problem;
    }

    /** The time for which the dispatcher asks not to be called; null if it does not. */
    public Duration retryAfter() {
        return retryAfter;
    }
}
