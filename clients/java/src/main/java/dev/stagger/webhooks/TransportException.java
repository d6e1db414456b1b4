package dev.stagger.webhooks;

/** No reply: the connection failed, or the time was over. */
public final class TransportException extends RuntimeException {
    private static final long serialVersionUID = 1;

    TransportException(String message, Throwable cause) {
        super(message, cause);
    }
}
