import Foundation
import Testing

/// The machine's time as a server reads it. Its monotonic clocks and timers stay as they are.
final class JumpingClock {
    private let directory: TemporaryDirectory

    private static let source = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>
        static long ahead(void) {
            char text[32] = "";
            int file = open(getenv("BRAID_TEST_CLOCK"), O_RDONLY | O_CLOEXEC);
            if (file < 0 || read(file, text, sizeof text - 1) < 0) abort();
            close(file);
            return atol(text);
        }
        int clock_gettime(clockid_t clock, struct timespec *time) {
            int result = syscall(SYS_clock_gettime, clock, time);
            if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += ahead();
            return result;
        }
        int gettimeofday(struct timeval *time, void *zone) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            time->tv_sec = now.tv_sec;
            time->tv_usec = now.tv_nsec / 1000;
            return 0;
        }
        time_t time(time_t *time) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (time) *time = now.tv_sec;
            return now.tv_sec;
        }
        """

    init() throws {
        directory = try TemporaryDirectory()
        try jump(days: 0)
        try Self.source.write(toFile: directory.path("clock.c"), atomically: true, encoding: .utf8)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(HeldFlush.compiler))
        process.arguments = ["-shared", "-fPIC", "-o", directory.path("clock.so"), directory.path("clock.c")]
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }

    /// After the real time.
    func jump(days: Int) throws {
        try "\(days * 86_400)".write(toFile: directory.path("ahead"), atomically: true, encoding: .utf8)
    }

    /// For the server.
    var environment: [String: String] {
        ["LD_PRELOAD": directory.path("clock.so"), "BRAID_TEST_CLOCK": directory.path("ahead")]
    }
}
