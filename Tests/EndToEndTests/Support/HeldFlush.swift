import Foundation
import TestSupport
import Testing

/// A server's `fdatasync` and `fsync`: held from `close()` to `open()`, failing after `fail()`, or as `strike` says.
final class HeldFlush {
    private let directory: TemporaryDirectory
    /// The file `closed`: an exclusive lock of it closes the gate.
    private var gate: Int32 = -1
    /// For the server.
    var environment: [String: String] {
        ["LD_PRELOAD": directory.path("flush.so"), "BRAID_TEST_FLUSH_GATE": directory.url.path].merging(
            microseconds.map { ["BRAID_TEST_FLUSH_MICROSECONDS": "\($0)"] } ?? [:]
        ) { $1 }
    }
    private let microseconds: Int?

    static let compiler = ["/usr/bin/cc", "/usr/bin/clang", "/opt/swift/usr/bin/clang"].first(
        where: FileManager.default.isExecutableFile)

    private static var source: String {
        get throws {
            try String(contentsOf: ServerProcess.package.appendingPathComponent("Tests/Shims/flush.c"), encoding: .utf8)
        }
    }

    /// `microseconds`: how long each flush takes longer.
    init(microseconds: Int? = nil) throws {
        self.microseconds = microseconds
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

    enum Strike: String {
        /// Before the n-th write or flush.
        case kill = "k"
        /// The n-th flush, with EIO.
        case failure = "f"
    }

    /// Ends the server at a point of a commit from now on, at each start until `rest`.
    func strike(_ strike: Strike, at number: Int) throws {
        try "\(strike.rawValue) \(number)".write(
            toFile: directory.path("strike"), atomically: true, encoding: .utf8)
    }

    func rest() { unlink(directory.path("strike")) }
}
