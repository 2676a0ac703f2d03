package braid.testing;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * A server in test mode: a process of the binary, a container, or a server that is already running. If {@code start},
 * {@code run} or {@code find} started the server, its controller has a new token. Such a server ends with {@code
 * close}, at the latest when this process ends.
 */
public final class BraidServer implements AutoCloseable {
    private static final List<String> ARGUMENTS =
        List.of("serve", "--test-mode", "--deterministic", "--database", ":memory:", "--exit-with-stdin");
    private static final Set<Integer> RETRIED = Set.of(408, 429, 502, 503, 504);
    private static final int RETRIES = 6;
    private static final double FIRST_DELAY = 0.5;
    private static final double LONGEST_DELAY = 30;

    private final URI uri;
    private final String token;
    private final Process process;
    private final Path log;
    private final List<String> removal;
    private final HttpClient client =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(10)).build();

    private BraidServer(URI uri, String token, Process process, Path log, List<String> removal) {
        this.uri = uri;
        this.token = token;
        this.process = process;
        this.log = log;
        this.removal = removal;
    }

    /**
     * Uses a server that is already running. The token is the controller's token, or {@code null} if the server needs
     * none.
     */
    public static BraidServer at(URI uri, String token) {
        return new BraidServer(URI.create(uri.toString().replaceFirst("/+$", "")), token, null, null, List.of());
    }

    /**
     * Returns the server that the environment names, or starts one:
     *
     * <ul> <li>{@code BRAID_SERVER_URL}, with {@code BRAID_SERVER_TOKEN}: a server that is already running. The
     * parameters then have no effect. <li>{@code BRAID_SERVER_IMAGE}: a container of this image. <li>{@code
     * BRAID_SERVER_BINARY}, or {@code braid-server} on the {@code PATH}: a process of this binary. </ul>
     *
     * @param fixtures the folder with the files {@code *.table.json} and {@code *.session.json}
     * @param options more command-line options of {@code braid-server serve}
     */
    public static BraidServer find(Path fixtures, String... options) {
        return find(System.getenv(), fixtures, options);
    }

    static BraidServer find(Map<String, String> environment, Path fixtures, String... options) {
        String url = environment.get("BRAID_SERVER_URL");
        if (url != null) {
            return at(URI.create(url), environment.get("BRAID_SERVER_TOKEN"));
        }
        String image = environment.get("BRAID_SERVER_IMAGE");
        if (image != null) {
            return run(image, fixtures, options);
        }
        String named = environment.get("BRAID_SERVER_BINARY");
        Path binary = named == null ? onPath(environment, "braid-server") : Path.of(named);
        if (binary == null) {
            throw new IllegalStateException("No server was found. Set BRAID_SERVER_BINARY to the path of braid-server, "
                + "BRAID_SERVER_IMAGE to an image, or BRAID_SERVER_URL to the address of a server in test mode.");
        }
        return start(binary, fixtures, options);
    }

    private static Path onPath(Map<String, String> environment, String... names) {
        for (String name : names) {
            for (String folder : environment.getOrDefault("PATH", "").split(File.pathSeparator)) {
                Path path = Path.of(folder, name);
                if (Files.isExecutable(path)) {
                    return path;
                }
            }
        }
        return null;
    }

    /** Starts a server from the binary on a free port. Returns once the server accepts connections. */
    public static BraidServer start(Path binary, Path fixtures, String... options) {
        List<String> command = new ArrayList<>(List.of(binary.toString()));
        command.addAll(ARGUMENTS);
        command.addAll(List.of("--port", "0", "--fixtures", fixtures.toString()));
        command.addAll(List.of(options));
        Started started = new Started(command);
        return new BraidServer(URI.create(started.url), started.token, started.process, started.log, List.of());
    }

    /**
     * Starts a container of the image with {@code docker} or {@code podman}. Returns once the server accepts
     * connections. The container's port is published only on the loopback address of this machine.
     */
    public static BraidServer run(String image, Path fixtures, String... options) {
        Path engine = onPath(System.getenv(), "docker", "podman");
        if (engine == null) {
            throw new IllegalStateException("To run the image, install docker or podman.");
        }
        String name = "braid-" + UUID.randomUUID();
        List<String> command = new ArrayList<>(List.of(
            engine.toString(), "run", "--rm", "--interactive", "--name", name, "--publish", "127.0.0.1::8080",
            "--volume", fixtures.toAbsolutePath() + ":/fixtures:ro", "--env", "BRAID_TOKEN", "--env", "BRAID_LOG_LEVEL", image));
        command.addAll(ARGUMENTS);
        command.addAll(List.of("--fixtures", "/fixtures"));
        command.addAll(List.of(options));
        Started started = new Started(command);
        List<String> removal = List.of(engine.toString(), "rm", "--force", name);
        try {
            Process port = new ProcessBuilder(engine.toString(), "port", name, "8080/tcp").redirectErrorStream(true).start();
            String output = new String(port.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (port.waitFor() == 0) {
                return new BraidServer(URI.create("http://" + output.split("\\s")[0]), started.token, started.process, started.log, removal);
            }
            throw new IllegalStateException(engine + " does not name the port of the container: " + output);
        } catch (IOException | InterruptedException | RuntimeException error) {
            end(started.process, removal);
            throw error instanceof RuntimeException known ? known : new IllegalStateException(error);
        }
    }

    /** A server process that has printed its address. */
    private static final class Started {
        final Process process;
        final Path log;
        final String token = UUID.randomUUID().toString();
        final String url;

        Started(List<String> command) {
            try {
                log = Files.createTempFile("braid-server", ".log");
                log.toFile().deleteOnExit();
                ProcessBuilder builder = new ProcessBuilder(command).redirectError(log.toFile());
                // The environment variables of this process that begin with `BRAID_` are not passed to the server.
                builder.environment().keySet().removeIf(name -> name.startsWith("BRAID_"));
                builder.environment().put("BRAID_LOG_LEVEL", "warning");
                builder.environment().put("BRAID_TOKEN", token);
                process = builder.start();
            } catch (IOException error) {
                throw new IllegalStateException("The server did not start: " + String.join(" ", command), error);
            }
            BufferedReader output = process.inputReader();
            String line;
            try {
                line = CompletableFuture.supplyAsync(() -> readLine(output)).get(60, TimeUnit.SECONDS);
            } catch (Exception error) {
                line = "";
            }
            if (!line.startsWith("listening on ")) {
                end(process, List.of());
                throw new IllegalStateException("The server did not start: " + String.join(" ", command) + "\n" + read(log));
            }
            url = line.substring("listening on ".length()).strip();
        }

        private static String readLine(BufferedReader reader) {
            try {
                String line = reader.readLine();
                return line == null ? "" : line;
            } catch (IOException error) {
                return "";
            }
        }
    }

    private static String read(Path log) {
        try {
            return Files.readString(log);
        } catch (IOException error) {
            return error.toString();
        }
    }

    /** The server's address, without a slash at the end. */
    public URI uri() {
        return uri;
    }

    /** The controller's token, or {@code null}. */
    public String token() {
        return token;
    }

    /**
     * The server's log, if {@code start}, {@code run} or {@code find} started the server. By default, the log contains
     * warnings and errors.
     */
    public String log() {
        return log == null ? "" : read(log);
    }

    public Faults faults() {
        return new Faults(this);
    }

    public Requests requests() {
        return new Requests(this);
    }

    public Clock clock() {
        return new Clock(this);
    }

    public BraidSession session(String id) {
        return new BraidSession(this, id);
    }

    /** Opens a session. The parameter is the body of {@code POST /v1/sessions}. */
    public BraidSession open(Map<String, ?> opening) {
        Map<String, String> headers = Map.of("Idempotency-Key", UUID.randomUUID().toString());
        return session((String) Json.at(send("POST", "/v1/sessions", opening, headers, true), "session"));
    }

    /** Opens a fork: a copy of a session as it is now. */
    public BraidSession fork(String session) {
        return open(Map.of("from", Map.of("session", session)));
    }

    /**
     * Resets the server to its state after the start: tables, sessions, tokens and the clock. Removes all faults and
     * recorded requests.
     */
    public void reset() {
        send("POST", "/v1/test/reset", null);
    }

    /**
     * Sends a request that the client may repeat after a failure. Returns the JSON of the answer, or {@code null} if
     * the answer has no content.
     */
    public Object send(String method, String path, Object body) {
        return send(method, path, body, Map.of(), true);
    }

    /**
     * Sends a request, and returns the answer's JSON, or {@code null} if there is no content. Throws {@code Problem} or
     * {@code ConnectionLost}.
     *
     * @param isRepeatable whether the client may repeat the request even if the server may have handled it
     */
    public Object send(String method, String path, Object body, Map<String, String> headers, boolean isRepeatable) {
        HttpRequest.Builder builder = HttpRequest.newBuilder(URI.create(uri + path)).timeout(Duration.ofSeconds(60));
        headers.forEach(builder::header);
        if (token != null) {
            builder.header("Authorization", "Bearer " + token);
        }
        if (body != null) {
            builder.header("Content-Type", "application/json");
        }
        builder.method(method, body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(Json.write(body)));
        HttpRequest request = builder.build();
        for (int tries = 1; ; tries++) {
            try {
                return exchange(request);
            } catch (ConnectionLost lost) {
                if (tries > RETRIES || !isRepeatable) {
                    throw lost;
                }
                sleep(delay(tries));
            } catch (Problem problem) {
                if (tries > RETRIES || !isRetried(problem, isRepeatable)) {
                    throw problem;
                }
                sleep(problem.retryAfter + delay(tries));
            }
        }
    }

    private Object exchange(HttpRequest request) {
        HttpResponse<String> response;
        try {
            response = client.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (IOException error) {
            throw new ConnectionLost("No complete answer arrived: " + error, error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new ConnectionLost("The thread was interrupted.", error);
        }
        boolean isSuccess = response.statusCode() / 100 == 2;
        if (isSuccess && response.statusCode() == 204) {
            return null;
        }
        Object value;
        try {
            value = Json.parse(response.body());
        } catch (IllegalArgumentException error) {
            if (isSuccess) {
                throw new ConnectionLost("The answer is not JSON.", error);
            }
            value = Map.of();
        }
        if (isSuccess) {
            return value;
        }
        double retryAfter = response.headers().firstValue("Retry-After").filter(text -> text.matches("[0-9]{1,9}")).map(Double::valueOf).orElse(0.0);
        throw new Problem(response.statusCode(), value instanceof Map ? Json.object(value) : Map.of(), retryAfter);
    }

    private static boolean isRetried(Problem problem, boolean isRepeatable) {
        if (problem.retryAfter > LONGEST_DELAY) {
            return false;
        }
        if (problem.kind.equals("idempotency-key-in-use")) {
            return true;
        }
        boolean mayBeDone = problem.status == 502 || problem.status == 504 || problem.kind.equals("outcome-unknown");
        return RETRIED.contains(problem.status) && (isRepeatable || !mayBeDone);
    }

    /** The number of seconds before a retry: a random delay, whose maximum doubles with each try, up to 30 seconds. */
    private static double delay(int tries) {
        return ThreadLocalRandom.current().nextDouble() * Math.min(LONGEST_DELAY, FIRST_DELAY * Math.pow(2, tries - 1));
    }

    private static void sleep(double seconds) {
        try {
            Thread.sleep((long) (seconds * 1000));
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new ConnectionLost("The thread was interrupted.", error);
        }
    }

    /** Ends the server, if {@code start}, {@code run} or {@code find} started it. */
    @Override
    public void close() {
        if (process != null) {
            end(process, removal);
        }
    }

    private static void end(Process process, List<String> removal) {
        try {
            // The server ends when its standard input is closed.
            process.getOutputStream().close();
            if (!process.waitFor(15, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
                if (!removal.isEmpty()) {
                    new ProcessBuilder(removal).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
                }
            }
        } catch (IOException | InterruptedException error) {
            process.destroyForcibly();
        }
    }
}
