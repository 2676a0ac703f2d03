import Foundation
import Testing

/// What the linked binary needs at run time.
@Suite struct BinaryTests {
    /// The output of a program with the binary as its last argument.
    private static func output(of program: String, _ arguments: String...) throws -> String {
        let process = Process(), output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments + [ServerProcess.binary.path]
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    @Test("The server is not linked with Foundation or its Unicode data, only with FoundationEssentials at most")
    func noFoundation() throws {
        let libraries = try Self.output(of: "ldd").split(separator: "\n").compactMap { $0.split(separator: " ").first }
            .map { $0.trimmingCharacters(in: .whitespaces) }
        try #require(libraries.contains { $0.hasPrefix("libsqlite3") }, "\(libraries)")
        let foundation = libraries.filter { $0.contains("Foundation") && !$0.contains("FoundationEssentials") }
        #expect(foundation == [])
    }

    @Test("The server uses the system's SQLite and libmd, and no other cryptography")
    func systemLibraries() throws {
        let symbols = try Self.output(of: "nm", "--dynamic", "--undefined-only")
        #expect(symbols.contains("sqlite3_step") && symbols.contains("SHA256Final"))
        #expect(!symbols.contains("CCryptoBoringSSL"))
    }
}
