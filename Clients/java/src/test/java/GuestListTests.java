import braid.testing.BraidServer;
import braid.testing.BraidSession;
import braid.testing.Fault;
import braid.testing.RequestMatch;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

class GuestListTests {
    private static BraidServer server;
    private BraidSession party;

    @BeforeAll
    static void startServer() {
        // The folder of your *.table.json and *.session.json.
        server = BraidServer.find(Path.of("Examples/attendees"));
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @BeforeEach
    void openSession() {
        // A copy for this test alone.
        party = server.fork("party");
    }

    @AfterEach
    void endSession() {
        server.faults().clear();
        party.close();
    }

    @Test
    void aGuestWhoIsTurnedDownIsGone() {
        party.delete("Sara");
        assertFalse(party.ids("attending").contains("Sara"));
    }

    @Test
    void myClientRepeatsACommand() {
        server.faults().set(Fault.loseAnswer().method("POST").path("/v1/sessions/*/edits").times(1));
        party.delete("Sara"); // in your test: what your program does
        server.requests().verifyExactly(2, RequestMatch.any().session(party).path("/v1/sessions/*/edits"));
        assertEquals(1, party.revision());
    }
}
