import Foundation
import Testing

/// Every Swift block in the articles is a copy of code that these tests compile and run.
///
/// The blocks of `NAME.md` are the snippets of `NAMETests.swift`, in order: from `snippet: name` to `end`. Tests/Docs
/// checks the folder docs.
@Suite struct SnippetTests {
    static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    static let package = tests.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    static let catalog = package.appendingPathComponent("Sources/BraidEngine/BraidEngine.docc")

    static let articles = names(in: catalog, endingWith: ".md")
    static let documents = articles.map { catalog.appendingPathComponent("\($0).md") }

    static func names(in directory: URL, endingWith suffix: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? [])
            .filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(suffix.count)) }.sorted()
    }

    @Test("Every Swift block of an article is a tested snippet", arguments: documents)
    func blocksAreSnippets(document: URL) throws {
        let name = document.deletingPathExtension().lastPathComponent
        let blocks = Self.parts(of: try String(contentsOf: document, encoding: .utf8), from: "```swift", to: "```")
        let tests = Self.tests.appendingPathComponent("\(name)Tests.swift")
        let snippets = Self.parts(
            of: (try? String(contentsOf: tests, encoding: .utf8)) ?? "", from: "// snippet: ", to: "// end")
        for (block, snippet) in zip(blocks, snippets) {
            #expect(
                block.text == snippet.text,
                "\(name).md:\(block.line) is not the snippet at \(name)Tests.swift:\(snippet.line)")
        }
        #expect(blocks.count == snippets.count, "\(name).md")
    }

    @Test("Every test file with snippets belongs to an article, except for the file of the Swift guide")
    func everySnippetIsUsed() {
        let documents = Set(Self.documents.map { $0.deletingPathExtension().lastPathComponent })
        let tests = Set(Self.names(in: Self.tests, endingWith: "Tests.swift"))
        #expect(tests.subtracting(documents) == ["Snippet", "SwiftGuide"])
        #expect(tests.count > 9)
    }

    @Test("Every linked article exists", arguments: articles)
    func linkedArticlesExist(article: String) throws {
        let text = try String(contentsOf: Self.catalog.appendingPathComponent("\(article).md"), encoding: .utf8)
        for link in text.split(separator: "<doc:").dropFirst() {
            let name = String(link.prefix { $0 != ">" && $0 != "#" })
            #expect(Self.articles.contains(name), "\(article).md links <doc:\(name)>")
        }
    }

    /// The lines between one with the prefix `start` and the next that equals `end`, without common indentation; with
    /// line numbers.
    private static func parts(of text: String, from start: String, to end: String) -> [(line: Int, text: String)] {
        var parts: [(line: Int, text: String)] = [], open: (line: Int, lines: [Substring])?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.drop { $0 == " " }
            if let part = open {
                if words == end {
                    let indent = part.lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
                    parts.append((part.line, part.lines.map { $0.dropFirst(indent) }.joined(separator: "\n")))
                    open = nil
                } else {
                    open?.lines.append(line)
                }
            } else if words.hasPrefix(start) {
                open = (index + 1, [])
            }
        }
        return parts
    }
}
