import Foundation
import Testing

/// The column "must not know" of ARCHITECTURE.md.
@Suite struct ArchitectureTests {
    private static let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../..").standardized

    /// Modules and packages that each may import.
    private static let allowed: [String: Set<String>] = [
        "BraidEngine": [],
        "BraidClient": [],
        "BraidRuntime": ["CEpoll", "CMD", "CZlib", "CZstd"],
        "BraidHTTP": ["BraidRuntime", "CEpoll"],
        "BraidStore": ["BraidEngine", "BraidRuntime", "CAssets", "CSQLite"],
        "BraidPostgres": ["BraidEngine", "BraidRuntime", "BraidStore", "CAssets", "CPostgreSQL"],
        "BraidJWT": ["BraidEngine", "BraidRuntime", "BraidSessions", "CCrypto"],
        "BraidSessions": ["BraidEngine", "BraidRuntime", "BraidStore"],
        "braid-server": [
            "BraidEngine", "BraidHTTP", "BraidJWT", "BraidPostgres", "BraidRuntime", "BraidServer", "BraidSessions",
            "BraidStore", "BraidTestMode",
        ],
        "BraidServer": [
            "BraidEngine", "BraidHTTP", "BraidRuntime", "BraidSessions", "BraidStore", "CAssets",
        ],
        "BraidTestMode": [
            "BraidEngine", "BraidHTTP", "BraidRuntime", "BraidServer", "BraidSessions", "BraidStore",
        ],
    ]

    /// With its Unicode data, Foundation would be more than half of the server's binary.
    private static let foundationUsers: Set = ["BraidClient"]

    private static func system(for module: String) -> Set<String> {
        let common: Set = ["Glibc", "Darwin", "Dispatch", "Synchronization"]
        return foundationUsers.contains(module)
            ? common.union(["Foundation", "FoundationEssentials", "FoundationNetworking"]) : common
    }

    private static let accessLevels: Set<Substring> = ["fileprivate", "internal", "package", "private", "public"]

    private static func text(of path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test("What only debug builds declare is private, so a release build cannot miss it") func debugOnly() throws {
        let folder = Self.root.appendingPathComponent("Sources").path
        let sources = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }
        var declarations = 0
        for source in sources {
            var isDebug = false
            for line in try Self.text(of: "Sources/\(source)").split(separator: "\n") {
                let words = line.split(separator: " ")
                switch words.first {
                case "#if": isDebug = words.contains("DEBUG")
                case "#else", "#endif": isDebug = false
                default:
                    // Members and statements are indented.
                    guard isDebug, line.first?.isLetter == true else { continue }
                    declarations += 1
                    #expect(["private", "fileprivate"].contains(words.first), "Sources/\(source): \(line)")
                }
            }
        }
        #expect(declarations > 0)
    }

    @Test("The source files of a module import only the modules that it may know", arguments: allowed.keys.sorted())
    func imports(module: String) throws {
        let known = try #require(Self.allowed[module]).union(Self.system(for: module))
        let folder = Self.root.appendingPathComponent("Sources/\(module)").path
        let sources = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }
        #expect(!sources.isEmpty)
        for source in sources {
            for line in try Self.text(of: "Sources/\(module)/\(source)").split(separator: "\n") {
                // `import A`, `internal import A`, `@_exported import struct A.B`
                let words = line.split(separator: " ")
                let rest = words.drop { $0.hasPrefix("@") || Self.accessLevels.contains($0) }
                guard rest.first == "import", let name = rest.last?.prefix(while: { $0 != "." }) else { continue }
                #expect(known.contains(String(name)), "Sources/\(module)/\(source) imports \(name)")
            }
        }
    }

    @Test("A target depends only on the modules that its module may know", arguments: allowed.keys.sorted())
    func dependencies(module: String) throws {
        // A target's declaration begins with a period in the ninth column of Package.swift; its further lines do not.
        let declarations = try Self.text(of: "Package.swift").components(separatedBy: "\n        .")
        let own = declarations.filter { declaration in
            (declaration.hasPrefix("target(") || declaration.hasPrefix("executableTarget("))
                && declaration.contains("name: \"\(module)\"")
        }
        #expect(own.count == 1)
        let known = try #require(Self.allowed[module])
        let ignored: Set = [module, "JWT", "PostgreSQL"]
        for name in own.flatMap({ Self.strings(in: $0) }) where !ignored.contains(name) {
            #expect(known.contains(name), "\(module) depends on \(name)")
        }
    }

    /// Without lines that are only a comment.
    private static func strings(in text: String) -> [String] {
        let code = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
        return code.joined(separator: "\n").split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .compactMap { $0.offset % 2 == 1 ? String($0.element) : nil }
    }
}
