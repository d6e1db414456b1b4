package dev.stagger.webhooks;

/** Keeps retries few: a tenth of the requests, and a few more at first. */
final class RetryBudget {
    private static final double SHARE = 0.1;
    private static final double BURST = 10;
    private double tokens = BURST;

    /** A first attempt is made. */
    synchronized void onCall() {
        tokens = Math.min(BURST, tokens + SHARE);
    }

    /** Whether a retry may be made. */
    synchronized boolean take() {
        if (tokens < 1) {
            return false;
        }
        tokens -= 1;
        return true;
    }
}
