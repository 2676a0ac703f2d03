package braid.testing;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The conditions by which a rule or a verification selects requests. A request matches if it meets all conditions.
 *
 * @param <Self> the subclass, which each method returns
 */
abstract class Match<Self extends Match<Self>> {
    private final Map<String, Object> members = new LinkedHashMap<>();

    @SuppressWarnings("unchecked")
    final Self with(String name, Object value) {
        members.put(name, value);
        return (Self) this;
    }

    @SuppressWarnings("unchecked")
    private Self withMember(String object, String name, String value) {
        ((Map<String, Object>) members.computeIfAbsent(object, key -> new LinkedHashMap<String, Object>())).put(name, value);
        return (Self) this;
    }

    final Map<String, Object> members() {
        return members;
    }

    public final Self method(String method) {
        return with("method", method);
    }

    /**
     * The path of the request. {@code *} stands for any text in a segment. A last segment {@code **} stands for any
     * rest of the path.
     */
    public final Self path(String pattern) {
        return with("path", pattern);
    }

    public final Self session(String id) {
        return with("session", id);
    }

    public final Self session(BraidSession session) {
        return session(session.id());
    }

    /** The role of the client: {@code controller}, {@code participant} or {@code viewer}. */
    public final Self role(String role) {
        return with("role", role);
    }

    /** The id of the token with which the request was sent. */
    public final Self token(String id) {
        return with("token", id);
    }

    /** A header field of the request. {@code *} in the value stands for any text. */
    public final Self header(String name, String pattern) {
        return withMember("headers", name, pattern);
    }

    /** A parameter of the request's query. {@code *} in the value stands for any text. */
    public final Self query(String name, String pattern) {
        return withMember("query", name, pattern);
    }

    /** A part of the request's body: the body must contain these members with these values. */
    public final Self body(Object part) {
        return with("body", part);
    }
}
