package braid.testing;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The rules by which the server fails. The first matching rule that is due applies to a request. */
public final class Faults {
    private final BraidServer server;

    Faults(BraidServer server) {
        this.server = server;
    }

    /** Replaces all rules. */
    public void set(Fault... rules) {
        setWithSeed(0, rules);
    }

    /** Replaces all rules. The seed decides all probabilities and jitter. */
    public void setWithSeed(long seed, Fault... rules) {
        server.send("PUT", "/v1/test/faults", Map.of("seed", seed, "faults", Stream.of(rules).map(Fault::json).toList()));
    }

    /** The rules, with the members {@code matched} and {@code applied}: numbers of requests. */
    public List<Object> all() {
        return Json.array(server.send("GET", "/v1/test/faults", null), "faults");
    }

    /** The number of requests to which the rule with this id applied. */
    public long applied(String id) {
        for (Object rule : all()) {
            if (id.equals(Json.at(rule, "id"))) {
                return (Long) Json.at(rule, "applied");
            }
        }
        throw new IllegalArgumentException("There is no rule \"" + id + "\".");
    }

    /** Removes all rules. */
    public void clear() {
        server.send("DELETE", "/v1/test/faults", null);
    }
}
