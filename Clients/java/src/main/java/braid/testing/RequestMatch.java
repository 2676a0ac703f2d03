package braid.testing;

/**
 * The conditions by which a verification selects requests and their answers: {@code
 * RequestMatch.any().method("POST").status(412)}.
 */
public final class RequestMatch extends Match<RequestMatch> {
    private RequestMatch() {}

    /** Every request. */
    public static RequestMatch any() {
        return new RequestMatch();
    }

    public RequestMatch status(int status) {
        return with("status", status);
    }

    /** The name of the problem in the answer, such as {@code row-gone}. */
    public RequestMatch problem(String name) {
        return with("problem", name);
    }

    /** Whether the answer is the stored answer of an idempotency key. */
    public RequestMatch replayed(boolean isReplayed) {
        return with("replayed", isReplayed);
    }

    /** The id of the rule that the server applied to the request. */
    public RequestMatch fault(String id) {
        return with("fault", id);
    }
}
