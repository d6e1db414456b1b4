package dev.stagger.webhooks;

/** A message that is not accepted, and why. */
public final class SignatureException extends Exception {
    private static final long serialVersionUID = 1;

    SignatureException(String message) {
        super(message);
    }
}
