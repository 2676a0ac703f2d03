package braid.testing;

import java.math.BigDecimal;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

@DisplayName("The kit for Java")
class KitTests {
    private static final Path FIXTURES = Path.of("Examples/attendees");
    private static final String EDITS = "/v1/sessions/*/edits";
    private static BraidServer server;
    private BraidSession party;

    @BeforeAll
    static void startServer() {
        server = BraidServer.find(FIXTURES);
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @BeforeEach
    void openSession() {
        party = server.fork("party");
    }

    @AfterEach
    void endSession() {
        server.faults().clear();
        party.close();
    }

    @Test
    @DisplayName("JSON is read and written without a loss")
    void json() {
        String text = "{\"a\":[1,-2.50,1e3,true,false,null,\"\\\"\\\\\\u0001ü\\ud83d\\ude00\"],\"b\":{},\"c\":[],\"d\":12345678901234567890}";
        Object value = Json.parse(" " + text.replace(",", " ,\n") + "\t");
        assertEquals(text, Json.write(value).replace("1E+3", "1e3"));
        assertEquals(1L, Json.at(value, "a", 0));
        assertEquals(new BigDecimal("-2.50"), Json.at(value, "a", 1));
        assertNull(Json.at(value, "a", 99));
        assertNull(Json.at(value, "a", "b", "c"));
        assertEquals("/", Json.parse("\"\\/\""));
        for (String bad : List.of("", "{", "[1", "[1,]", "{\"a\"}", "{\"a\":1,}", "{a:1}", "01", "1.", "+1", "tru", "\"", "\"\\x\"", "\"\\u12\"", "\"\n\"", "1 2", "[".repeat(600))) {
            assertThrows(IllegalArgumentException.class, () -> Json.parse(bad), bad);
        }
        assertThrows(IllegalArgumentException.class, () -> Json.write(new Object()));
    }

    @Test
    @DisplayName("Copies of a session do not meet, and a copy of an earlier revision has its table")
    void copies() {
        Map<String, Object> before = party.snapshot();
        assertEquals("applied", party.delete("Sara").get("outcome"));
        party.undo(1);
        assertEquals(before.get("sections"), party.snapshot().get("sections"));
        party.redo(2);
        party.undo();
        party.redo();
        assertFalse(party.ids("attending").contains("Sara"));
        party.move("Yvonne", "attending", 0);
        party.patchModels(Map.of("invited", List.of(Map.of("name", "Ada"))));
        assertEquals(List.of("Ada"), party.ids("invited"));
        assertEquals(before.get("sections"), party.snapshotAt(0).get("sections"));
        try (BraidSession earlier = party.forkAt(0); BraidSession now = party.fork()) {
            assertEquals(before.get("sections"), earlier.snapshot().get("sections"));
            assertEquals(party.snapshot().get("sections"), now.snapshot().get("sections"));
        }
        assertTrue(server.session("party").ids("attending").contains("Sara"));
        party.reset();
        assertEquals(before.get("sections"), party.snapshot().get("sections"));
        party.close();
        party.close();
        assertEquals("session-not-found", assertThrows(Problem.class, party::snapshot).kind);
    }

    @ParameterizedTest(name = "{0}")
    @ValueSource(strings = {"close", "loseAnswer", "truncate", "respond", "refuseConnections"})
    @DisplayName("A command is applied once whatever happens to its answer")
    void faults(String action) {
        server.requests().clear();
        Fault rule = switch (action) {
            case "close" -> Fault.close();
            case "loseAnswer" -> Fault.loseAnswer();
            case "truncate" -> Fault.truncate(20);
            case "respond" -> Fault.respond(503);
            default -> Fault.refuseConnections(Duration.ofMillis(20));
        };
        server.faults().set(rule.id("first").path(EDITS).session(party).times(1));
        assertEquals(1L, party.delete("Sara").get("revision"));
        assertEquals(1, server.faults().applied("first"));
        int replays = action.equals("loseAnswer") || action.equals("truncate") ? 1 : 0;
        server.requests().verifyExactly(replays, RequestMatch.any().session(party).path(EDITS).replayed(true));
        // With refuseConnections, the server records the first request only after it has closed all connections.
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (server.requests().all().size() < 2 && System.nanoTime() < deadline) {
            Thread.onSpinWait();
        }
        server.requests().verifyExactly(1, RequestMatch.any().fault("first"));
    }

    @Test
    @DisplayName("A lost answer to a command without a key is thrown")
    void withoutKey() {
        server.faults().set(Fault.loseAnswer().path(EDITS).times(1));
        Map<String, Object> body = Map.of("delete", Map.of("id", "Sara"));
        assertThrows(ConnectionLost.class, () -> party.command("POST", "edits", body, null));
        assertEquals(1, party.revision());
    }

    @Test
    @DisplayName("After an unknown outcome, a command is repeated only with a key")
    void unknownOutcome() {
        server.faults().set(Fault.respond(503, "outcome-unknown", 0).path(EDITS).times(1));
        Map<String, Object> body = Map.of("delete", Map.of("id", "Sara"));
        assertEquals("outcome-unknown", assertThrows(Problem.class, () -> party.command("POST", "edits", body, null)).kind);
        server.faults().set(Fault.respond(503, "outcome-unknown", 0).path(EDITS).times(1));
        assertEquals(1L, party.delete("Sara").get("revision"));
    }

    @Test
    @DisplayName("A refusal is thrown with its kind, and a delay changes nothing")
    void refusals() {
        server.faults().set(Fault.respond(422, "model-invalid", 1).method("POST").path(EDITS));
        Problem problem = assertThrows(Problem.class, () -> party.delete("Sara"));
        assertEquals(422, problem.status);
        assertEquals("model-invalid", problem.kind);
        server.faults().setWithSeed(7, Fault.delay(Duration.ofMillis(10)).id("slow").probability(1).skip(0).after(Duration.ofMillis(20), Duration.ofMillis(5)));
        party.tap("Sara");
        assertTrue(server.faults().applied("slow") >= 1);
        assertThrows(IllegalArgumentException.class, () -> server.faults().applied("another"));
        assertThrows(Problem.class, () -> server.faults().set(Fault.respond(99)));
        server.faults().set(Fault.throttle(100_000), Fault.cutStream(1, 2), Fault.pauseStream(1, Duration.ofSeconds(1)), Fault.snapshot(), Fault.newEpoch());
        assertEquals(5, server.faults().all().size());
    }

    @Test
    @DisplayName("A verification that fails names the nearest request and what differs")
    void verification() {
        server.requests().clear();
        party.delete("Sara");
        RequestMatch edits = RequestMatch.any().method("POST").path(EDITS).role("controller").header("idempotency-key", "*");
        server.requests().verifyAtLeast(1, edits.body(Map.of("delete", Map.of("id", "Sara"))));
        server.requests().verifyAtMost(0, RequestMatch.any().status(412).problem("etag-mismatch"));
        VerificationFailed failure = assertThrows(VerificationFailed.class,
            () -> server.requests().verifyExactly(1, edits.body(Map.of("delete", Map.of("id", "Omar")))));
        assertEquals(0, failure.count);
        assertFalse(failure.nearestMisses.isEmpty());
        assertTrue(failure.getMessage().contains("expected \"Omar\", was \"Sara\""), failure.getMessage());
        assertEquals(1, server.requests().all().stream().filter(entry -> String.valueOf(Json.at(entry, "path")).endsWith("/edits")).count());
    }

    @Test
    @DisplayName("The clock is set and advanced, and a reset brings back the fixtures")
    void clockAndReset() {
        // `Instant.now()` has nine digits, too. The server's clock has milliseconds.
        Instant given = Instant.parse("2026-12-24T18:00:00.123456789Z"), christmas = given.truncatedTo(ChronoUnit.MILLIS);
        assertTrue(Duration.between(christmas, server.clock().set(given)).toMinutes() < 1);
        assertTrue(Duration.between(christmas, server.clock().advance(Duration.ofDays(1))).toDays() >= 1);
        server.session("party").delete("Sara");
        server.reset();
        assertEquals(3, server.session("party").ids("attending").size());
        assertTrue(Duration.between(christmas, server.clock().now()).abs().toDays() > 1);
    }

    @Test
    @DisplayName("A viewer may not change the table")
    void tokens() {
        BraidServer viewer = BraidServer.at(server.uri(), party.token("viewer"));
        assertEquals(party.snapshot(), viewer.session(party.id()).snapshot());
        Problem problem = assertThrows(Problem.class, () -> viewer.session(party.id()).tap("Sara"));
        assertEquals("role", problem.kind);
        assertEquals(401, assertThrows(Problem.class, () -> BraidServer.at(server.uri(), null).fork("party")).status);
    }

    @Test
    @DisplayName("A server is found by its address, by its binary, or not at all")
    void finding(@TempDir Path empty) {
        Map<String, String> address = Map.of("BRAID_SERVER_URL", server.uri().toString(), "BRAID_SERVER_TOKEN", server.token());
        BraidServer found = BraidServer.find(address, empty);
        assertEquals(server.uri(), found.uri());
        assertEquals(0, found.session("party").revision());
        String message = assertThrows(IllegalStateException.class, () -> BraidServer.find(Map.of("PATH", empty.toString()), empty)).getMessage();
        assertTrue(message.contains("BRAID_SERVER_BINARY"));
    }

    @Test
    @DisplayName("The address of a running server may end with a slash")
    void addressWithSlash() {
        BraidServer named = BraidServer.at(URI.create(server.uri() + "/"), server.token());
        assertEquals(server.uri(), named.uri());
        assertEquals(0, named.session("party").revision());
    }

    @Test
    @DisplayName("A server that does not start says why")
    void failedStart(@TempDir Path folder) throws Exception {
        Files.writeString(folder.resolve("bad.table.json"), "{");
        String message = assertThrows(IllegalStateException.class, () -> BraidServer.start(binary(), folder)).getMessage();
        assertTrue(message.contains("bad.table.json"), message);
        assertThrows(IllegalStateException.class, () -> BraidServer.start(Path.of("/nowhere"), FIXTURES));
    }

    @Test
    @DisplayName("A server ends when it is closed")
    void life() {
        BraidServer other = BraidServer.start(binary(), FIXTURES, "--log-level", "info");
        assertNotEquals(server.uri(), other.uri());
        assertEquals(0, other.session("party").revision());
        other.close();
        assertTrue(other.log().contains("/v1/sessions/party/snapshot"));
        assertThrows(ConnectionLost.class, () -> BraidServer.at(other.uri(), null).send("GET", "/healthz", null, Map.of(), false));
    }

    private static Path binary() {
        return Path.of(System.getenv("BRAID_SERVER_BINARY"));
    }
}
