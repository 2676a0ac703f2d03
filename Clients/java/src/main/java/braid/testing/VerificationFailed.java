package braid.testing;

import java.util.List;
import java.util.Map;

/**
 * Thrown if the number of matching requests is not the expected one. The message names the nearest requests and their
 * differences.
 */
public final class VerificationFailed extends AssertionError {
    private static final long serialVersionUID = 1;

    /** The number of requests that matched. */
    public final long count;
    /** The requests that are most similar to the expected ones, each with its differences. */
    public final transient List<Object> nearestMisses;

    VerificationFailed(Map<String, Object> document) {
        super(message(document));
        count = (Long) Json.at(document, "count");
        nearestMisses = Json.array(document, "nearestMisses");
    }

    private static String message(Map<String, Object> document) {
        StringBuilder text = new StringBuilder(String.valueOf(document.getOrDefault("detail", "Another number of requests matched.")));
        for (Object miss : Json.array(document, "nearestMisses")) {
            Object request = Json.at(miss, "request");
            text.append("\nnearest: ").append(Json.at(request, "method")).append(' ').append(Json.at(request, "path"));
            text.append(" → ").append(Json.at(request, "answer", "status"));
            for (Object difference : Json.array(miss, "differences")) {
                text.append("\n  ").append(Json.at(difference, "member"));
                text.append(": expected ").append(Json.write(Json.at(difference, "expected")));
                text.append(", was ").append(Json.write(Json.at(difference, "actual")));
            }
        }
        return text.toString();
    }
}
