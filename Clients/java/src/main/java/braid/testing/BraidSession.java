package braid.testing;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;

/** One session on the server. {@code close} ends the session. */
public final class BraidSession implements AutoCloseable {
    private final BraidServer server;
    private final String id;
    private final String path;
    /** The lock is fair, so that commands are sent in the order of the calls. */
    private final ReentrantLock turns = new ReentrantLock(true);

    BraidSession(BraidServer server, String id) {
        this.server = server;
        this.id = id;
        this.path = "/v1/sessions/" + quoted(id);
    }

    static String quoted(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    public String id() {
        return id;
    }

    /** Gets the snapshot of the displayed table. */
    public Map<String, Object> snapshot() {
        return Json.object(server.send("GET", path + "/snapshot", null));
    }

    /** Gets the snapshot of the table at an earlier revision, which the journal must still contain. */
    public Map<String, Object> snapshotAt(long revision) {
        return Json.object(server.send("GET", path + "/snapshot?at=" + revision, null));
    }

    public long revision() {
        return (Long) snapshot().get("revision");
    }

    /** The displayed rows of one section. A section that is not displayed has no rows. */
    public List<Object> rows(String section) {
        for (Object shown : Json.array(snapshot(), "sections")) {
            if (section.equals(Json.at(shown, "id"))) {
                return Json.array(shown, "rows");
            }
        }
        return List.of();
    }

    /** The ids of the displayed rows of one section. */
    public List<String> ids(String section) {
        return rows(section).stream().map(row -> (String) Json.at(row, "id")).toList();
    }

    /**
     * Sends a command: {@code command("POST", "taps", Map.of("at", List.of(0, 1)))}. The resource may have a query,
     * such as {@code edits?base=3}. The client sends the command with an idempotency key, and repeats it if the answer
     * was lost.
     */
    public Map<String, Object> command(String method, String resource, Object body) {
        return command(method, resource, body, UUID.randomUUID().toString());
    }

    /**
     * Sends a command with an idempotency key. If the key is {@code null}, the client does not repeat a command that
     * the server may have applied.
     */
    public Map<String, Object> command(String method, String resource, Object body, String key) {
        Map<String, String> headers = key == null ? Map.of() : Map.of("Idempotency-Key", key);
        turns.lock();
        try {
            return Json.object(server.send(method, path + "/" + resource, body, headers, key != null));
        } finally {
            turns.unlock();
        }
    }

    /** Deletes the row with this id, as a person does. The description must allow this. */
    public Map<String, Object> delete(String id) {
        return command("POST", "edits", Map.of("delete", Map.of("id", id)));
    }

    /** Taps the row with an id. */
    public Map<String, Object> tap(String id) {
        return command("POST", "taps", Map.of("at", Map.of("id", id)));
    }

    /** Moves the row with this id to a row number in a section. */
    public Map<String, Object> move(String id, String section, int row) {
        return command("POST", "moves", Map.of("from", Map.of("id", id), "to", Map.of("section", section, "row", row)));
    }

    /** Replaces the models of the sections that the parameter names. */
    public Map<String, Object> patchModels(Map<String, ?> models) {
        return command("PATCH", "models", models);
    }

    /** Changes the state by a merge patch (RFC 7396). */
    public Map<String, Object> patchState(Map<String, ?> patch) {
        return command("PATCH", "state", patch);
    }

    /** Resets the session to the table with which it was opened. */
    public Map<String, Object> reset() {
        return command("POST", "reset", Map.of());
    }

    /** Takes back the last command of this token that is not taken back yet. */
    public Map<String, Object> undo() {
        return command("POST", "undo", Map.of("last", "mine"));
    }

    /** Takes back what the command of a revision did. */
    public Map<String, Object> undo(long revision) {
        return command("POST", "undo", Map.of("revision", revision));
    }

    /** Takes back the last undo of this token. */
    public Map<String, Object> redo() {
        return command("POST", "redo", Map.of("last", "mine"));
    }

    /** Takes back the undo of a revision. */
    public Map<String, Object> redo(long revision) {
        return command("POST", "redo", Map.of("revision", revision));
    }

    /** Opens a fork: a copy of this session as it is now. */
    public BraidSession fork() {
        return server.fork(id);
    }

    /** Opens a fork: a copy of this session as it was at an earlier revision. */
    public BraidSession forkAt(long revision) {
        return server.open(Map.of("from", Map.of("session", id, "revision", revision)));
    }

    /** Makes a token for this session, which is valid for an hour. The role is {@code participant} or {@code viewer}. */
    public String token(String role) {
        return (String) Objects.requireNonNull(Json.at(server.send("POST", path + "/tokens", Map.of("role", role, "expiresIn", 3600), Map.of(), false), "token"));
    }

    /** Ends the session. If the session has already ended, the method does nothing. */
    @Override
    public void close() {
        try {
            server.send("DELETE", path, null);
        } catch (Problem problem) {
            if (problem.status != 404) {
                throw problem;
            }
        }
    }
}
