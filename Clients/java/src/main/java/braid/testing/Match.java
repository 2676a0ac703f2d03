package braid.testing;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Which requests match. All conditions must hold.
 *
 * @param <Self> the class with these methods
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

    /** A path in which {@code *} is one segment and {@code **} any rest. */
    public final Self path(String pattern) {
        return with("path", pattern);
    }

    public final Self session(String id) {
        return with("session", id);
    }

    public final Self session(BraidSession session) {
        return session(session.id());
    }

    /** {@code controller}, {@code participant} or {@code viewer}. */
    public final Self role(String role) {
        return with("role", role);
    }

    /** The id of a token. */
    public final Self token(String id) {
        return with("token", id);
    }

    /** A header whose value may contain {@code *}. */
    public final Self header(String name, String pattern) {
        return withMember("headers", name, pattern);
    }

    /** A parameter of the query. Its value may contain {@code *}. */
    public final Self query(String name, String pattern) {
        return withMember("query", name, pattern);
    }

    /** A part of the body. */
    public final Self body(Object part) {
        return with("body", part);
    }
}
