import BraidEngine
import BraidHTTP
import BraidStore
import Foundation
import Testing

@testable import BraidServer

@Suite struct AssetTests {
    private static let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../..").standardized

    @Test("Every file in Web/ is served, byte for byte, with its media type")
    func everyFileIsServed() throws {
        let folder = Self.root.appendingPathComponent("Web")
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.contains(".") }
        let types = ["html": "text/html", "css": "text/css", "js": "text/javascript", "ts": "application/typescript"]
        for name in names {
            let path = name == "index.html" ? "/" : "/\(name)"
            let asset = try #require(
                Asset.web.first { $0.path == path }, "Sources/CAssets/CAssets.c does not embed Web/\(name)")
            let file = folder.appendingPathComponent(name)
            #expect(try Data(contentsOf: file).elementsEqual(asset.bytes.plain), "\(path)")
            #expect(types[file.pathExtension] == asset.mediaType, "\(path)")
        }
        #expect(Asset.web.count == names.count)
    }

    @Test("An embedded file is compressed once in each coding and form, then answered at once, also with `pretty`")
    func eachFormIsMadeOnce() async throws {
        let app = try App(store: SQLiteStore(path: ":memory:"), controllers: ControllerTokens(["t"]))
        for path in Asset.web.map(\.path) + ["/openapi.json"] {
            for target in [path, "\(path)?pretty"] {
                for coding in ["gzip", "zstd", "identity"] {
                    for (number, method) in ["HEAD", "HEAD", "GET"].enumerated() {
                        let head = parsedHead(method, target, [("Host", "localhost"), ("Accept-Encoding", coding)])
                        switch app.receive(head).reply(to: []) {
                        case .ready(let response): #expect(response.status == 200, "\(target)")
                        case .task(_, _, let work):
                            #expect(number == 0 && coding != "identity", "\(method) \(target) \(coding)")
                            #expect(await work().status == 200, "\(target)")
                        }
                    }
                }
            }
        }
        #expect(Asset.openAPI.etag != Asset.indentedOpenAPI.etag)
    }

    @Test("/openapi.json has the content of docs/openapi.json without white space, and is indented with `pretty`")
    func theDocumentIsTheFile() throws {
        let file = try Data(contentsOf: Self.root.appendingPathComponent("docs/openapi.json"))
        #expect(try Asset.openAPI.bytes.plain == JSONText(JSONText(parsing: Array(file)).value()).bytes)
        #expect(try JSONText(parsing: Asset.indentedOpenAPI.bytes.plain).bytes == Asset.openAPI.bytes.plain)
        #expect(Asset.indentedOpenAPI.bytes.plain.starts(with: Array("{\n  \"".utf8)))
        #expect(Asset.openAPI.path == "/openapi.json" && Asset.openAPI.mediaType == "application/json")
    }

    @Test("Assets with different content have different ETags")
    func bytesHaveTheirETag() {
        #expect(Set(Asset.web.map(\.etag)).count == Asset.web.count)
        #expect(Asset("/a", "text/css", [1]).etag == Asset("/b", "text/html", [1]).etag)
        #expect(Asset("/a", "text/css", [1]).etag != Asset("/a", "text/css", [2]).etag)
    }

    @Test("The inspector's page obeys its own Content-Security-Policy: no inline code, and nothing from other origins")
    func thePageKeepsItsPolicy() throws {
        let page = try #require(Asset.web.first { $0.path == "/" })
        let policy = page.headers.first { $0.0 == "Content-Security-Policy" }?.1 ?? ""
        for rule in ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"] {
            #expect(policy.contains(rule))
        }
        #expect(!policy.contains("unsafe"))
        let text = String(decoding: page.bytes.plain, as: UTF8.self)
        #expect(
            !text.contains(/<script(?![^>]*\bsrc=)/) && !text.contains(/<style/) && !text.contains(/\sstyle=/)
                && !text.contains(/\son[a-z]+=/))
        for reference in text.matches(of: /\s(?:src|href)="([^"]*)"/)
        where !reference.1.hasPrefix("#") && !reference.1.hasPrefix("data:") {
            #expect(Asset.web.contains { $0.path == reference.1 }, "\(reference.1)")
        }
    }

    @Test("The inspector's page preloads all modules, so that the browser requests them at the same time")
    func preloadedModules() throws {
        let page = try #require(Asset.web.first { $0.path == "/" })
        let text = String(decoding: page.bytes.plain, as: UTF8.self)
        for path in Asset.web.map(\.path) where path == "/braid.js" || path.hasPrefix("/inspector/") {
            #expect(text.contains("<link rel=\"modulepreload\" href=\"\(path)\">"), "\(path)")
        }
    }
}
