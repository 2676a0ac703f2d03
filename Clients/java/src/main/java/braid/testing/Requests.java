package braid.testing;

import java.util.List;
import java.util.Map;

/**
 * The record of the newest requests to {@code /v1} that the server received since its start, its last reset or the last
 * {@code clear}. The record does not contain requests to {@code /v1/test}.
 */
public final class Requests {
    private final BraidServer server;

    Requests(BraidServer server) {
        this.server = server;
    }

    /** Returns all recorded requests with their answers, the oldest first. */
    public List<Object> all() {
        return Json.array(server.send("GET", "/v1/test/requests", null), "requests");
    }

    public void clear() {
        server.send("DELETE", "/v1/test/requests", null);
    }

    /** Throws {@code VerificationFailed} unless exactly {@code count} requests match. */
    public void verifyExactly(int count, RequestMatch match) {
        verify("exactly", count, match);
    }

    /** Throws {@code VerificationFailed} unless at least {@code count} requests match. */
    public void verifyAtLeast(int count, RequestMatch match) {
        verify("atLeast", count, match);
    }

    /** Throws {@code VerificationFailed} unless at most {@code count} requests match. */
    public void verifyAtMost(int count, RequestMatch match) {
        verify("atMost", count, match);
    }

    private void verify(String relation, int count, RequestMatch match) {
        try {
            server.send("POST", "/v1/test/requests/verify", Map.of("match", match.members(), relation, count));
        } catch (Problem problem) {
            if (problem.kind.equals("verification-failed")) {
                throw new VerificationFailed(problem.document);
            }
            throw problem;
        }
    }
}
