import Foundation
import Testing

@Suite struct BinaryTests {
    /// With the binary's path as last argument.
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

    @Test("The server does not use Foundation, neither as a shared library nor linked into the binary")
    func noFoundation() throws {
        let libraries = try Self.output(of: "ldd").split(separator: "\n").compactMap { $0.split(separator: " ").first }
            .map { $0.trimmingCharacters(in: .whitespaces) }
        try #require(libraries.contains { $0.hasPrefix("libsqlite3") }, "\(libraries)")
        #expect(libraries.filter { $0.contains("Foundation") } == [])
        // A linked Foundation leaves this name even without symbols.
        let binary = try Data(contentsOf: ServerProcess.binary)
        #expect(binary.range(of: Data("FoundationEssentials".utf8)) == nil)
    }

    @Test("The server does not use Swift's library for regular expressions, which would add 1.2 MB")
    func noRegularExpressions() throws {
        #expect(try !Self.output(of: "nm", "--dynamic", "--undefined-only").contains("_StringProcessing"))
    }

    @Test("The server does not ask for the names of Unicode's characters, which Scripts/build-static leaves out")
    func noNamesOfCharacters() throws {
        #expect(try !Self.output(of: "nm", "--dynamic", "--undefined-only").contains("ScalarV10PropertiesV4name"))
    }

    @Test("The server uses the SQLite and libmd of the system, and no other cryptography")
    func systemLibraries() throws {
        let symbols = try Self.output(of: "nm", "--dynamic", "--undefined-only")
        #expect(symbols.contains("sqlite3_step") && symbols.contains("SHA256Final"))
        #expect(!symbols.contains("CCryptoBoringSSL"))
    }
}
