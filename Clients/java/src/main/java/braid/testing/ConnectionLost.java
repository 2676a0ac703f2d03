package braid.testing;

/** Thrown if no complete answer arrived, or if the answer is not JSON. The server may have handled the request. */
public final class ConnectionLost extends RuntimeException {
    private static final long serialVersionUID = 1;

    ConnectionLost(String message, Throwable cause) {
        super(message, cause);
    }
}
