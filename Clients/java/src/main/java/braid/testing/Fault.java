package braid.testing;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A rule by which the server fails: {@code Fault.loseAnswer().method("POST").path("/v1/sessions/*\/edits").times(1)}. A rule
 * without conditions matches every request.
 */
public final class Fault extends Match<Fault> {
    private final Map<String, Object> rule = new LinkedHashMap<>();

    private Fault(String action, Map<String, ?> parameters) {
        if (action != null) {
            rule.put("action", Map.of(action, parameters));
        }
    }

    /** The server handles the request later. */
    public static Fault delay(Duration delay) {
        return new Fault(null, Map.of()).after(delay, Duration.ZERO);
    }

    /** The server refuses the request with a problem document. */
    public static Fault respond(int status) {
        return new Fault("respond", Map.of("status", status));
    }

    /** The server refuses the request with a problem document of a type, and with {@code Retry-After} in seconds. */
    public static Fault respond(int status, String type, int retryAfter) {
        return new Fault("respond", Map.of("status", status, "type", type, "retryAfter", retryAfter));
    }

    /** The server closes the connection, and does nothing. */
    public static Fault close() {
        return new Fault("close", Map.of());
    }

    /** The server carries out the request, and closes the connection without an answer. */
    public static Fault loseAnswer() {
        return new Fault("loseAnswer", Map.of());
    }

    /** The server closes the connection after this part of the answer's body. */
    public static Fault truncate(int bytes) {
        return new Fault("truncate", Map.of("bytes", bytes));
    }

    /** The server sends the answer slowly. */
    public static Fault throttle(int bytesPerSecond) {
        return new Fault("throttle", Map.of("bytesPerSecond", bytesPerSecond));
    }

    /** The server closes a stream after a number of events and of bytes of the next event. */
    public static Fault cutStream(int events, int bytes) {
        return new Fault("cutStream", Map.of("events", events, "bytes", bytes));
    }

    /** The server delivers nothing for a while after a number of events. */
    public static Fault pauseStream(int events, Duration duration) {
        return new Fault("pauseStream", Map.of("events", events, "milliseconds", duration.toMillis()));
    }

    /** The server sends a snapshot instead of updates, as if its history did not reach back. */
    public static Fault snapshot() {
        return new Fault("snapshot", Map.of());
    }

    /** The session gets a new epoch before the server handles the request. */
    public static Fault newEpoch() {
        return new Fault("newEpoch", Map.of());
    }

    /** The server closes all connections and refuses new ones for a while, as during a restart. */
    public static Fault refuseConnections(Duration duration) {
        return new Fault("refuseConnections", Map.of("milliseconds", duration.toMillis()));
    }

    public Fault id(String id) {
        return put("id", id);
    }

    /** The number of matching requests to leave alone. */
    public Fault skip(int count) {
        return put("skip", count);
    }

    /** The number of matching requests after {@code skip} to which the rule applies. */
    public Fault times(int count) {
        return put("times", count);
    }

    public Fault probability(double probability) {
        return put("probability", probability);
    }

    /** The server waits before it handles the request: for {@code delay}, give or take a random part of {@code jitter}. */
    public Fault after(Duration delay, Duration jitter) {
        return put("delay", Map.of("milliseconds", delay.toMillis(), "jitter", jitter.toMillis()));
    }

    private Fault put(String name, Object value) {
        rule.put(name, value);
        return this;
    }

    Map<String, Object> json() {
        Map<String, Object> result = new LinkedHashMap<>(rule);
        result.put("match", members());
        return result;
    }
}
