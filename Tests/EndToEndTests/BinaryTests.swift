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

    @Test("The server contains nothing of Foundation, neither as a library nor in the binary itself")
    func noFoundation() throws {
        let libraries = try Self.output(of: "ldd").split(separator: "\n").compactMap { $0.split(separator: " ").first }
            .map { $0.trimmingCharacters(in: .whitespaces) }
        try #require(libraries.contains { $0.hasPrefix("libsqlite3") }, "\(libraries)")
        #expect(libraries.filter { $0.contains("Foundation") } == [])
        // A binary with Swift's runtime linked into it still contains the module's name, also without its symbols.
        let binary = try Data(contentsOf: ServerProcess.binary)
        #expect(binary.range(of: Data("FoundationEssentials".utf8)) == nil)
    }

    @Test("The server uses nothing of the library of regular expressions, which is 1.2 MB")
    func noRegularExpressions() throws {
        #expect(try !Self.output(of: "nm", "--dynamic", "--undefined-only").contains("_StringProcessing"))
    }

    @Test("The server uses the system's SQLite and libmd, and no other cryptography")
    func systemLibraries() throws {
        let symbols = try Self.output(of: "nm", "--dynamic", "--undefined-only")
        #expect(symbols.contains("sqlite3_step") && symbols.contains("SHA256Final"))
        #expect(!symbols.contains("CCryptoBoringSSL"))
    }
}
