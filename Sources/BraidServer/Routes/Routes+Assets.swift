import BraidHTTP
import Crypto

/// A file that the server has for everyone: there is nothing in it that the source does not say.
struct Asset: Sendable {
    let path: String
    /// Without parameters.
    let mediaType: String
    let bytes: [UInt8]
    /// With its quotes; another one for other bytes.
    let etag: String

    init(_ path: String, _ mediaType: String, _ text: String) {
        self.path = path
        self.mediaType = mediaType
        bytes = Array(text.utf8)
        etag = "\"\(SHA256.hash(data: bytes).prefix(8).hexadecimal)\""
    }

    static let all = [
        Asset("/openapi.json", "application/json", Embedded.openapiJSON),
        Asset("/braid.js", "text/javascript", Embedded.braidJS),
        Asset("/braid.d.ts", "application/typescript", Embedded.braidDTS),
        Asset("/", "text/html", Embedded.indexHTML),
        Asset("/inspector.js", "text/javascript", Embedded.inspectorJS),
        Asset("/inspector.css", "text/css", Embedded.inspectorCSS),
    ]

    /// What `/inspector.js` is made of: modules, by the names of their files, at `/inspector/…`.
    static let inspectorModules = [
        "cells.js": Embedded.cellsJS,
        "console.js": Embedded.consoleJS,
        "dom.js": Embedded.domJS,
        "dragging.js": Embedded.draggingJS,
        "editor.js": Embedded.editorJS,
        "frames.js": Embedded.framesJS,
        "items.js": Embedded.itemsJS,
        "layout.js": Embedded.layoutJS,
        "list.js": Embedded.listJS,
        "pointers.js": Embedded.pointersJS,
        "row.js": Embedded.rowJS,
        "screen.js": Embedded.screenJS,
        "server.js": Embedded.serverJS,
        "session.js": Embedded.sessionJS,
        "sidebar.js": Embedded.sidebarJS,
        "stages.js": Embedded.stagesJS,
        "table.js": Embedded.tableJS,
        "timeline.js": Embedded.timelineJS,
        "toasts.js": Embedded.toastsJS,
        "updates.js": Embedded.updatesJS,
    ].reduce(into: [String: Asset]()) { $0[$1.key] = Asset("/inspector/\($1.key)", "text/javascript", $1.value) }

    var headers: [(String, String)] {
        let type = mediaType == "application/json" ? mediaType : "\(mediaType); charset=utf-8"
        // A new version of the server may have other bytes.
        var headers = [("Content-Type", type), ("ETag", etag), ("Cache-Control", "no-cache"), ("X-Content-Type-Options", "nosniff")]
        if mediaType == "text/html" { headers += Self.pageHeaders }
        return headers
    }

    /// The page runs this server's scripts and styles alone, talks to this server alone, shows images from wherever a
    /// table's models have them, and is shown in no other page.
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
    Asset.all.map { asset in
        // Links to the page carry parameters of others: `utm_source` and the like.
        Route("GET", asset.path, ignoresUnknownQuery: asset.mediaType == "text/html", produces: asset.mediaType) { context in .ready(asset.answer(to: context.head)) }
    } + [
        Route("GET", "/inspector/{file}", produces: "text/javascript") { context in
            guard let module = Asset.inspectorModules[context.parameter("file")] else { throw ProblemError(.notFound, "The inspector has no module of this name.") }
            return .ready(module.answer(to: context.head))
        }
    ]
}

extension Asset {
    func answer(to head: HTTPRequestHead) -> HTTPResponse {
        if let match = head.headers["if-none-match"], etags(in: match, include: etag, weakly: true) {
            return HTTPResponse(status: 304, headers: headers.filter { $0.0 != "Content-Type" })
        }
        return HTTPResponse(status: 200, headers: headers, body: .bytes(bytes))
    }
}
