package braid.testing;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A rule by which the server fails: {@code Fault.loseAnswer().method("POST").path("/v1/sessions/*\/edits").times(1)}. A rule
 * without conditions matches every request to {@code /v1}, except requests to {@code /v1/test}.
 */
public final class Fault extends Match<Fault> {
    private final Map<String, Object> rule = new LinkedHashMap<>();

    private Fault(String action, Map<String, ?> parameters) {
        if (action != null) {
            rule.put("action", Map.of(action, parameters));
        }
    }

    /** Makes a rule: the server waits before it handles a matching request. */
    public static Fault delay(Duration delay) {
        return new Fault(null, Map.of()).after(delay, Duration.ZERO);
    }

    /** Makes a rule: the server refuses a matching request with a problem document. */
    public static Fault respond(int status) {
        return new Fault("respond", Map.of("status", status));
    }

    /**
     * Makes a rule: the server refuses a matching request with a problem document of this type. {@code retryAfter} is
     * the number of seconds in the header {@code Retry-After}.
     */
    public static Fault respond(int status, String type, int retryAfter) {
        return new Fault("respond", Map.of("status", status, "type", type, "retryAfter", retryAfter));
    }

    /** Makes a rule: the server closes the connection without handling a matching request. */
    public static Fault close() {
        return new Fault("close", Map.of());
    }

    /** Makes a rule: the server handles a matching request, and then closes the connection without an answer. */
    public static Fault loseAnswer() {
        return new Fault("loseAnswer", Map.of());
    }

    /**
     * Makes a rule: the server closes the connection after the first bytes of the answer's body. The parameter is the
     * number of these bytes.
     */
    public static Fault truncate(int bytes) {
        return new Fault("truncate", Map.of("bytes", bytes));
    }

    /** Makes a rule: the server sends the answer's body slowly, with this number of bytes per second. */
    public static Fault throttle(int bytesPerSecond) {
        return new Fault("throttle", Map.of("bytesPerSecond", bytesPerSecond));
    }

    /**
     * Makes a rule: the server closes a stream after {@code events} events, and after {@code bytes} bytes of the next
     * event.
     */
    public static Fault cutStream(int events, int bytes) {
        return new Fault("cutStream", Map.of("events", events, "bytes", bytes));
    }

    /**
     * Makes a rule: after {@code events} events of a stream, the server sends nothing for the time {@code duration}.
     */
    public static Fault pauseStream(int events, Duration duration) {
        return new Fault("pauseStream", Map.of("events", events, "milliseconds", duration.toMillis()));
    }

    /**
     * Makes a rule: the server sends a snapshot instead of updates, as if its journal did not reach back far enough.
     */
    public static Fault snapshot() {
        return new Fault("snapshot", Map.of());
    }

    /** Makes a rule: the session's epoch changes before the server handles a matching request. */
    public static Fault newEpoch() {
        return new Fault("newEpoch", Map.of());
    }

    /**
     * Makes a rule: on a matching request, the server closes all connections without handling the request. It refuses
     * new connections for the time {@code duration}, as during a restart.
     */
    public static Fault refuseConnections(Duration duration) {
        return new Fault("refuseConnections", Map.of("milliseconds", duration.toMillis()));
    }

    public Fault id(String id) {
        return put("id", id);
    }

    /** The number of matching requests that the rule leaves alone before it applies to any. */
    public Fault skip(int count) {
        return put("skip", count);
    }

    /** The maximum number of requests to which the rule applies. */
    public Fault times(int count) {
        return put("times", count);
    }

    public Fault probability(double probability) {
        return put("probability", probability);
    }

    /**
     * Makes the server wait before it handles a matching request. The waiting time is {@code delay}, and varies at
     * random by up to {@code jitter}.
     */
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
