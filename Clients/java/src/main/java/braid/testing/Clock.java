package braid.testing;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;

/** The clock of the server. Tests can set and advance it. */
public final class Clock {
    private final BraidServer server;

    Clock(BraidServer server) {
        this.server = server;
    }

    public Instant now() {
        return time(server.send("GET", "/v1/test/clock", null));
    }

    /**
     * Sets the server's clock. From {@code time}, the clock follows real time. With {@code --deterministic}, it instead
     * advances in steps of 1 ms, for example with a command.
     */
    public Instant set(Instant time) {
        return time(server.send("PUT", "/v1/test/clock", Map.of("time", time.toString())));
    }

    public Instant advance(Duration duration) {
        // The request that advances the clock is not repeatable, because a repetition would advance the clock twice.
        return time(server.send("PUT", "/v1/test/clock", Map.of("advance", duration.toMillis() / 1000.0), Map.of(), false));
    }

    private static Instant time(Object answer) {
        return Instant.parse((String) Json.at(answer, "time"));
    }
}
