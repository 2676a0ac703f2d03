import Foundation
import Testing

/// The engine's folders are layers: a file names only types of its own folder and of those below.
///
/// Compares names of types, so it misses members that an extension in a higher folder adds to a lower type.
struct LayerTests {
    /// Lowest first, each with the folders directly below it; what is below those may be used, too.
    static let layers: [Layer] = [
        Layer("Collections", above: []),
        Layer("JSON", above: []),
        Layer("JSONe", above: ["JSON"]),
        Layer("JTD", above: ["JSON"]),
        Layer("Model", above: ["Collections", "JSON"]),
        Layer("Diff", above: ["Model"]),
        Layer("Binding", above: ["JSONe", "JTD", "Model"]),
        Layer("Windows", above: ["Binding", "Diff"]),
        Layer("Description", above: ["Binding"]),
        Layer("Editing", above: ["Description", "Diff"]),
        Layer("Library", above: ["Editing"]),
    ]

    static let engine = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources/BraidEngine").standardizedFileURL

    @Test("A source file of the engine names only types of its own folder and of the folders below")
    func engineHasNoUpwardReference() throws {
        var sources: [Source] = []
        for layer in Self.layers {
            let folder = Self.engine.appending(path: layer.folder)
            for file in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            where file.hasSuffix(".swift") {
                let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
                sources.append(Source(folder: layer.folder, file: file, text: text))
            }
        }
        #expect(sources.count > 100)
        let upward = upwardReferences(in: sources, layers: Self.layers)
        #expect(upward.isEmpty, "\(upward.map(\.description).joined(separator: "\n"))")
    }

    @Test(
        "The driver of a store names no type of Braid", arguments: ["BraidStore/SQLite/Driver", "BraidPostgres/Driver"])
    func driverHasNoUpwardReference(driver: String) throws {
        let root = Self.engine.deletingLastPathComponent()
        var sources: [Source] = []
        for module in ["BraidEngine", "BraidRuntime", "BraidStore", "BraidPostgres"] {
            for file in try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: module).path)
            where file.hasSuffix(".swift") {
                let path = "\(module)/\(file)",
                    text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
                if path.hasPrefix(driver) {
                    sources.append(Source(folder: "Driver", file: file, text: text))
                } else if !path.contains("/Driver/") {
                    sources.append(Source(folder: "Braid", file: file, text: text))
                }
            }
        }
        #expect(sources.count { $0.folder == "Driver" } > 3)
        let upward = upwardReferences(
            in: sources, layers: [Layer("Driver", above: []), Layer("Braid", above: ["Driver"])])
        #expect(upward.isEmpty, "\(upward.map(\.description).joined(separator: "\n"))")
    }

    @Test("Every folder of the engine is in the list of layers, after all folders that it may use")
    func layersAreComplete() throws {
        let entries = try FileManager.default.contentsOfDirectory(
            at: Self.engine, includingPropertiesForKeys: [.isDirectoryKey])
        let folders = try entries.filter { try $0.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true }
            .map(\.lastPathComponent).filter { !$0.hasSuffix(".docc") }
        #expect(Set(folders) == Set(Self.layers.map(\.folder)))
        for (position, layer) in Self.layers.enumerated() {
            #expect(layer.below.isSubset(of: Self.layers[..<position].map(\.folder)), "\(layer.folder)")
        }
    }

    @Test("The scan reports the file, line, type name and folder of a reference to a higher layer")
    func upwardReferenceIsReported() {
        let layers = [Layer("JSON", above: []), Layer("Binding", above: ["JSON"])]
        let low = """
            /// Not a reference: Binder.
            struct JSONText { /* Nor /* is */ this: Binder */
                enum Scope { case part }
                let name = "Binder", raw = #"a "Binder" \\(Binder)"#
                let bound = "the \\(Binder.shared) binder", scope = Scope.part, member = other.Binder
            }
            extension Handler { var text: JSONText }
            """
        let high = """
            public struct Binder { struct Nested {} }
            enum Scope {}
            private struct JSONText {}
            final class Handler { let text: JSONText }
            """
        let upward = upwardReferences(
            in: [
                Source(folder: "JSON", file: "Low.swift", text: low),
                Source(folder: "Binding", file: "High.swift", text: high),
            ], layers: layers)
        #expect(
            upward.map(\.description) == [
                "JSON/Low.swift:5 names Binder, a type of Binding", "JSON/Low.swift:7 names Handler, a type of Binding",
            ])
    }

    @Test("The scan reports a reference between two folders of which neither is below the other")
    func sidewaysReferenceIsReported() {
        let layers = [Layer("JSONe", above: []), Layer("JTD", above: [])]
        let upward = upwardReferences(
            in: [
                Source(folder: "JSONe", file: "Instant.swift", text: "struct Instant { var year: Timestamp }"),
                Source(folder: "JTD", file: "Timestamp.swift", text: "enum Timestamp {}"),
            ], layers: layers)
        #expect(upward.map(\.name) == ["Timestamp"])
    }
}

struct Layer {
    let folder: String
    /// Directly.
    let below: Set<String>

    init(_ folder: String, above below: Set<String>) {
        self.folder = folder
        self.below = below
    }
}

struct Source {
    let folder: String
    let file: String
    let text: String
}

struct UpwardReference: CustomStringConvertible {
    let source: Source
    let line: Int
    let name: String
    /// Where the type is declared.
    let folder: String

    var description: String { "\(source.folder)/\(source.file):\(line) names \(name), a type of \(folder)" }
}

/// The first mention in each file of each type that is not below it. `layers` are lowest first.
private func upwardReferences(in sources: [Source], layers: [Layer]) -> [UpwardReference] {
    var allowed: [String: Set<String>] = [:]
    for layer in layers {
        allowed[layer.folder] = layer.below.reduce([layer.folder]) { $0.union([$1]).union(allowed[$1] ?? []) }
    }
    let scanned = sources.map { ($0, SourceScan($0.text)) }
    var folders: [String: Set<String>] = [:]
    for (source, scan) in scanned {
        for name in scan.declared { folders[name, default: []].insert(source.folder) }
    }
    return scanned.flatMap { source, scan in
        scan.mentioned.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.compactMap { name, line in
            guard !scan.local.contains(name), let declaring = folders[name],
                declaring.isDisjoint(with: allowed[source.folder] ?? [])
            else { return nil }
            return UpwardReference(source: source, line: line, name: name, folder: declaring.sorted()[0])
        }
    }
}

/// The types that a file declares and mentions. Reads words, not Swift's grammar; skips comments and strings, but not
/// interpolations. A word after a dot is a member, and code that names a nested type names its outer type, too.
private struct SourceScan {
    /// Named by other files without an outer type: at the top level and not private.
    private(set) var declared: Set<String> = []
    /// All, even if they are also declared elsewhere: here the name may mean this one.
    private(set) var local: Set<String> = []
    /// Capitalized words, with the line of the first mention.
    private(set) var mentioned: [String: Int] = [:]

    private let bytes: [UInt8]
    private var at = 0
    private var line = 1
    private var depth = 0
    private var isPrivate = false
    private var lastWord = ""

    private static let declaring: Set = ["struct", "class", "enum", "actor", "protocol", "typealias"]

    init(_ text: String) {
        bytes = Array(text.utf8)
        scanCode(isInterpolation: false)
    }

    private func isNext(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[at...].starts(with: $0) }
    }

    private mutating func passByte() {
        if bytes[at] == UInt8(ascii: "\n") {
            line += 1
            isPrivate = false
        }
        at += 1
    }

    /// To the end of the source or, in an interpolation, the closing parenthesis.
    private mutating func scanCode(isInterpolation: Bool) {
        var parentheses = 0
        while at < bytes.count {
            switch bytes[at] {
            case UInt8(ascii: "/") where isNext("//"):
                while at < bytes.count, bytes[at] != UInt8(ascii: "\n") { at += 1 }
            case UInt8(ascii: "/") where isNext("/*"): passComment()
            case UInt8(ascii: "\""), UInt8(ascii: "#"): scanLiteral()
            case UInt8(ascii: "{"):
                depth += 1
                at += 1
            case UInt8(ascii: "}"):
                depth -= 1
                at += 1
            case UInt8(ascii: "("):
                parentheses += 1
                at += 1
            case UInt8(ascii: ")"):
                at += 1
                if isInterpolation, parentheses == 0 { return }
                parentheses -= 1
            case let byte where Self.isOfWord(byte): scanWord()
            default: passByte()
            }
        }
    }

    private mutating func passComment() {
        var nesting = 0
        repeat {
            if isNext("/*") {
                nesting += 1
                at += 2
            } else if isNext("*/") {
                nesting -= 1
                at += 2
            } else {
                passByte()
            }
        } while nesting > 0 && at < bytes.count
    }

    /// Or only passes the `#` signs, if no literal follows.
    private mutating func scanLiteral() {
        var hashes = 0
        while at < bytes.count, bytes[at] == UInt8(ascii: "#") {
            hashes += 1
            at += 1
        }
        guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else { return }
        let quotes = isNext("\"\"\"") ? 3 : 1
        let raw = [UInt8](repeating: UInt8(ascii: "#"), count: hashes)
        let end = [UInt8](repeating: UInt8(ascii: "\""), count: quotes) + raw, escape = [UInt8(ascii: "\\")] + raw
        at += quotes
        while at < bytes.count {
            if bytes[at...].starts(with: end) {
                at += end.count
                return
            }
            if bytes[at...].starts(with: escape) {
                at += escape.count
                if isNext("(") {
                    at += 1
                    scanCode(isInterpolation: true)
                    continue
                }
            }
            if at < bytes.count { passByte() }
        }
    }

    private mutating func scanWord() {
        let start = at
        while at < bytes.count, Self.isOfWord(bytes[at]) { at += 1 }
        let word = String(decoding: bytes[start..<at], as: UTF8.self)
        defer { lastWord = word }
        if word == "private" || word == "fileprivate" { isPrivate = true }
        guard word.first?.isUppercase == true else { return }
        if Self.declaring.contains(lastWord) {
            local.insert(word)
            if depth == 0, !isPrivate { declared.insert(word) }
        } else if !isMember(start) || lastWord == "BraidEngine" {
            mentioned[word] = mentioned[word] ?? line
        }
    }

    /// The dots of ranges such as `..<` do not count.
    private func isMember(_ start: Int) -> Bool {
        start >= 1 && bytes[start - 1] == UInt8(ascii: ".") && !(start >= 2 && bytes[start - 2] == UInt8(ascii: "."))
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
            true
        default: false
        }
    }
}
