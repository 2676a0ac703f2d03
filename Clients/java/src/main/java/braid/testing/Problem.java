package braid.testing;

import java.util.Map;

/** Thrown if the server, or a proxy, refused the request. */
public final class Problem extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** The HTTP status of the answer. */
    public final int status;
    /** The last part of the problem's type, such as {@code row-gone}. */
    public final String kind;
    /** All members of the problem document. */
    public final transient Map<String, Object> document;
    /** The number of seconds in the header {@code Retry-After}, or 0 if the header is missing or contains a date. */
    final double retryAfter;

    Problem(int status, Map<String, Object> document, double retryAfter) {
        super(status + " " + kind(document) + ": " + document.getOrDefault("detail", document.getOrDefault("title", "refused")));
        this.status = status;
        this.kind = kind(document);
        this.document = document;
        this.retryAfter = retryAfter;
    }

    private static String kind(Map<String, Object> document) {
        String type = document.get("type") instanceof String text ? text : "about:blank";
        return type.substring(type.lastIndexOf('/') + 1);
    }
}
