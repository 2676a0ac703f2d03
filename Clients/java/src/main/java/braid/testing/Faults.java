package braid.testing;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The rules that make the server fail in tests. To a request, the server applies the first rule that matches and is
 * due.
 */
public final class Faults {
    private final BraidServer server;

    Faults(BraidServer server) {
        this.server = server;
    }

    /** Replaces all rules. */
    public void set(Fault... rules) {
        setWithSeed(0, rules);
    }

    /** Replaces all rules. The seed makes the random choices and delays reproducible. */
    public void setWithSeed(long seed, Fault... rules) {
        server.send("PUT", "/v1/test/faults", Map.of("seed", seed, "faults", Stream.of(rules).map(Fault::json).toList()));
    }

    /**
     * Returns all rules. {@code matched} is the number of requests that matched the rule and to which no earlier rule
     * was applied. {@code applied} is the number of requests to which the rule was applied.
     */
    public List<Object> all() {
        return Json.array(server.send("GET", "/v1/test/faults", null), "faults");
    }

    /** Returns the number of requests to which the rule with this id was applied. */
    public long applied(String id) {
        for (Object rule : all()) {
            if (id.equals(Json.at(rule, "id"))) {
                return (Long) Json.at(rule, "applied");
            }
        }
        throw new IllegalArgumentException("There is no rule \"" + id + "\".");
    }

    /** Removes all rules, so that the server no longer fails. */
    public void clear() {
        server.send("DELETE", "/v1/test/faults", null);
    }
}
