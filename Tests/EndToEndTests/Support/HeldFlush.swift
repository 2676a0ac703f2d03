import Foundation
import TestSupport
import Testing

/// A server's `fdatasync` and `fsync`: held from `close()` to `open()`, failing after `fail()`.
final class HeldFlush {
    private let directory: TemporaryDirectory
    /// The file `closed`: an exclusive lock of it closes the gate.
    private var gate: Int32 = -1
    /// For the server.
    var environment: [String: String] {
        ["LD_PRELOAD": directory.path("flush.so"), "BRAID_TEST_FLUSH_GATE": directory.url.path]
    }

    static let compiler = ["/usr/bin/cc", "/usr/bin/clang", "/opt/swift/usr/bin/clang"].first(
        where: FileManager.default.isExecutableFile)

    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/file.h>
        #include <unistd.h>
        static int fails(void) {
            char failing[4096];
            snprintf(failing, sizeof failing, "%s/failing", getenv("BRAID_TEST_FLUSH_GATE"));
            if (access(failing, F_OK) != 0) return 0;
            errno = EIO;
            return 1;
        }
        static void pass(void) {
            const char *directory = getenv("BRAID_TEST_FLUSH_GATE");
            char closed[4096], held[4096];
            snprintf(closed, sizeof closed, "%s/closed", directory);
            snprintf(held, sizeof held, "%s/held", directory);
            int gate = open(closed, O_RDONLY | O_CLOEXEC);
            if (gate < 0) return;
            if (flock(gate, LOCK_SH | LOCK_NB) != 0) {
                close(creat(held, 0600));
                flock(gate, LOCK_SH);
            }
            close(gate);
        }
        int fdatasync(int descriptor) { pass(); return fails() ? -1 : ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(descriptor); }
        int fsync(int descriptor) { pass(); return fails() ? -1 : ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(descriptor); }
        """

    init() throws {
        directory = try TemporaryDirectory()
        try Self.compile(Self.source, to: directory.path("flush.so"))
    }

    /// For `LD_PRELOAD`.
    static func compile(_ source: String, to library: String) throws {
        let file = library + ".c"
        try source.write(toFile: file, atomically: true, encoding: .utf8)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(compiler))
        process.arguments = ["-shared", "-fPIC", "-o", library, file, "-ldl"]
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }

    func close() {
        gate = Foundation.open(directory.path("closed"), O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        flock(gate, LOCK_EX)
    }

    func open() {
        Foundation.close(gate)
        gate = -1
    }

    deinit { open() }

    func waitUntilHeld() throws {
        try #require(eventually { FileManager.default.fileExists(atPath: directory.path("held")) })
    }

    /// With EIO, from now on.
    func fail() { _ = FileManager.default.createFile(atPath: directory.path("failing"), contents: nil) }
}
