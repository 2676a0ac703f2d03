package braid.testing;

/** No complete answer arrived. The server may have carried out the request. */
public final class ConnectionLost extends RuntimeException {
    private static final long serialVersionUID = 1;

    ConnectionLost(String message, Throwable cause) {
        super(message, cause);
    }
}
