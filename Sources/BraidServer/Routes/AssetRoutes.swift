import BraidEngine
import BraidHTTP
import BraidRuntime
import CAssets
import Synchronization

/// A file in the binary, for everyone.
final class Asset: Sendable {
    let path: String
    /// Without parameters.
    let mediaType: String
    private let read: @Sendable () -> [UInt8]
    /// Copied out of the binary when first requested, which saves an idle server 0.26 MB, and the pages of the binary.
    private let content = Mutex<(bytes: SharedBytes, etag: String)?>(nil)

    init(_ path: String, _ mediaType: String, _ bytes: @autoclosure @escaping @Sendable () -> [UInt8]) {
        self.path = path
        self.mediaType = mediaType
        read = bytes
    }

    var bytes: SharedBytes { loaded.bytes }
    /// Strong, quoted.
    var etag: String { loaded.etag }

    private var loaded: (bytes: SharedBytes, etag: String) {
        content.withLock { content in
            if let content { return content }
            let bytes = read()
            var hash = StableHash()
            hash.combine(bytes)
            let loaded = (SharedBytes(bytes), "\"\(String(UInt(bitPattern: hash.value), radix: 16))\"")
            content = loaded
            return loaded
        }
    }

    /// `docs/openapi.json`, compact and, for `?pretty`, indented.
    static let openAPI = Asset("/openapi.json", "application/json", openAPIText.bytes)
    static let indentedOpenAPI = Asset("/openapi.json", "application/json", openAPIText.pretty() + [.lineFeed])

    private static let openAPIText =
        (try? JSONText(
            parsing: Array(UnsafeBufferPointer(start: cassets_openapi.bytes, count: cassets_openapi.count))))
        ?? .emptyObject

    /// The folder `Web`.
    static let web = UnsafeBufferPointer(start: cassets_web, count: cassets_web_count).map { file in
        let name = String(cString: file.name)
        let type = name.split(separator: ".").last.flatMap { mediaTypes[$0] } ?? "application/octet-stream"
        return Asset(
            name == "index.html" ? "/" : "/\(name)", type,
            Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
    }

    private static let mediaTypes: [Substring: String] = [
        "css": "text/css", "html": "text/html", "js": "text/javascript", "ts": "application/typescript",
    ]

    var headers: [(String, String)] {
        let type = mediaType == "application/json" ? mediaType : "\(mediaType); charset=utf-8"
        // `no-cache`: another version of the server may have other bytes here.
        var headers = [
            ("Content-Type", type), ("ETag", etag), ("Cache-Control", "no-cache"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        if mediaType == "text/html" { headers += Self.pageHeaders }
        return headers
    }

    /// Scripts, styles and connections only from and to this server; models can name images of any URL; no other page
    /// may embed it.
    private static let pageHeaders = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: https: http:; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        ("Referrer-Policy", "no-referrer"),
    ]
}

func assetRoutes() -> [Route] {
    let modules = "/inspector/"
    let byPath = Dictionary(uniqueKeysWithValues: Asset.web.map { ($0.path, $0) })
    return Asset.web.filter { !$0.path.hasPrefix(modules) }.map { asset in
        // Links carry parameters such as `utm_source`.
        Route.inMemory(
            "GET", asset.path, for: .everyone, ignoresUnknownQuery: asset.mediaType == "text/html",
            produces: asset.mediaType, obeysPretty: true
        ) { asset.answer(to: $0.head) }
    } + [
        Route.inMemory("GET", "/openapi.json", for: .everyone, obeysPretty: true) { context in
            (try context.flag("pretty") ? Asset.indentedOpenAPI : .openAPI).answer(to: context.head)
        },
        Route.inMemory(
            "GET", "\(modules){file}", for: .everyone, produces: "text/javascript", obeysPretty: true
        ) { context in
            guard let module = byPath[modules + context.parameter("file")] else {
                throw ProblemError(.noSuchResource, "The inspector has no module of this name.")
            }
            return module.answer(to: context.head)
        },
    ]
}

extension Asset {
    func answer(to head: HTTPRequestHead) -> HTTPResponse {
        if let tag = head.knownTag(etag) {
            let kept = headers.filter { $0.0 != "Content-Type" && $0.0 != "ETag" }
            return HTTPResponse(status: 304, headers: [("ETag", tag)] + kept)
        }
        return HTTPResponse(status: 200, headers: headers, body: .shared(bytes))
    }
}
