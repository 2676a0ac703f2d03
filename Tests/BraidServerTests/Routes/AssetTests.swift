import Foundation
import Testing

@testable import BraidServer

@Suite struct AssetTests {
    @Test("Every file for browsers is served, byte for byte, as of its media type")
    func everyFileIsServed() throws {
        let directory = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../Sources/BraidServer/Inspector").standardized
        let files = try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
        #expect(files.count >= 5)
        let types = ["html": "text/html", "css": "text/css", "js": "text/javascript", "ts": "application/typescript"]
        for file in files {
            let name = file.lastPathComponent
            let path = name == "index.html" ? "/" : "/\(name)"
            let asset = try #require(Asset.inspectorModules[name] ?? Asset.all.first { $0.path == path }, "\(path) is not in the table of assets")
            #expect(try Data(contentsOf: file).elementsEqual(asset.bytes), "\(path): run Scripts/embed")
            #expect(types[file.pathExtension] == asset.mediaType, "\(path)")
        }
    }

    @Test("Other bytes have another ETag")
    func bytesHaveTheirETag() {
        #expect(Set(Asset.all.map(\.etag)).count == Asset.all.count)
        #expect(Asset("/a", "text/css", "x").etag == Asset("/b", "text/html", "x").etag)
    }

    @Test("What the page may do is said of the page: nothing of it is inline, or comes from elsewhere")
    func thePageKeepsItsPolicy() throws {
        let page = try #require(Asset.all.first { $0.path == "/" })
        let policy = page.headers.first { $0.0 == "Content-Security-Policy" }?.1 ?? ""
        for rule in ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"] { #expect(policy.contains(rule)) }
        #expect(!policy.contains("unsafe"))
        let text = String(decoding: page.bytes, as: UTF8.self)
        #expect(!text.contains(/<script(?![^>]*\bsrc=)/) && !text.contains(/<style/) && !text.contains(/\sstyle=/) && !text.contains(/\son[a-z]+=/))
        for reference in text.matches(of: /\s(?:src|href)="([^"]*)"/) where !reference.1.hasPrefix("#") && !reference.1.hasPrefix("data:") {
            #expect((Asset.all + Asset.inspectorModules.values).contains { $0.path == reference.1 }, "\(reference.1)")
        }
    }

    @Test("The page asks for all modules at once, not for each when another one names it")
    func modulesAreAskedForAtOnce() throws {
        let page = try #require(Asset.all.first { $0.path == "/" })
        let text = String(decoding: page.bytes, as: UTF8.self)
        for path in ["/braid.js"] + Asset.inspectorModules.values.map(\.path) { #expect(text.contains("<link rel=\"modulepreload\" href=\"\(path)\">"), "\(path)") }
    }
}
