import Foundation

/// After `useUp()`, writes fail with EDQUOT as long as the database's reserve file exists, as if it took the rest of
/// the quota.
final class UsedUpQuota {
    private let directory: TemporaryDirectory
    private let reserve: String
    var environment: [String: String] {
        [
            "LD_PRELOAD": directory.path("quota.so"), "BRAID_TEST_QUOTA_USED": directory.path("used"),
            "BRAID_TEST_QUOTA_RESERVE": reserve,
        ]
    }

    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <stdlib.h>
        #include <sys/stat.h>
        #include <unistd.h>
        static int fails(int file) {
            struct stat facts;
            if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) return 0;
            if (access(getenv("BRAID_TEST_QUOTA_USED"), F_OK) != 0) return 0;
            if (access(getenv("BRAID_TEST_QUOTA_RESERVE"), F_OK) != 0) return 0;
            errno = EDQUOT;
            return 1;
        }
        ssize_t write(int file, const void *bytes, size_t count) {
            if (fails(file)) return -1;
            return ((ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write"))(file, bytes, count);
        }
        ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
            if (fails(file)) return -1;
            return ((ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite"))(file, bytes, count, offset);
        }
        ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
            if (fails(file)) return -1;
            return ((ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64"))(file, bytes, count, offset);
        }
        """

    init(of database: String) throws {
        reserve = database + "-reserve"
        directory = try TemporaryDirectory()
        try HeldFlush.compile(Self.source, to: directory.path("quota.so"))
    }

    func useUp() { _ = FileManager.default.createFile(atPath: directory.path("used"), contents: nil) }

    func end() throws { try FileManager.default.removeItem(atPath: directory.path("used")) }
}
