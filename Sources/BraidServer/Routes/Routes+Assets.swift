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
        etag = "\"\(SHA256.digest(of: bytes).prefix(8).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())\""
    }

    static let all = [
        Asset("/openapi.json", "application/json", Embedded.openapiJSON),
        Asset("/braid.js", "text/javascript", Embedded.braidJS),
        Asset("/braid.d.ts", "application/typescript", Embedded.braidDTS),
        Asset("/", "text/html", Embedded.indexHTML),
        Asset("/inspector.js", "text/javascript", Embedded.inspectorJS),
        Asset("/cells.js", "text/javascript", Embedded.cellsJS),
        Asset("/console.js", "text/javascript", Embedded.consoleJS),
        Asset("/dom.js", "text/javascript", Embedded.domJS),
        Asset("/dragging.js", "text/javascript", Embedded.draggingJS),
        Asset("/editor.js", "text/javascript", Embedded.editorJS),
        Asset("/frames.js", "text/javascript", Embedded.framesJS),
        Asset("/items.js", "text/javascript", Embedded.itemsJS),
        Asset("/layout.js", "text/javascript", Embedded.layoutJS),
        Asset("/list.js", "text/javascript", Embedded.listJS),
        Asset("/pointers.js", "text/javascript", Embedded.pointersJS),
        Asset("/row.js", "text/javascript", Embedded.rowJS),
        Asset("/screen.js", "text/javascript", Embedded.screenJS),
        Asset("/server.js", "text/javascript", Embedded.serverJS),
        Asset("/session.js", "text/javascript", Embedded.sessionJS),
        Asset("/sidebar.js", "text/javascript", Embedded.sidebarJS),
        Asset("/stages.js", "text/javascript", Embedded.stagesJS),
        Asset("/table.js", "text/javascript", Embedded.tableJS),
        Asset("/timeline.js", "text/javascript", Embedded.timelineJS),
        Asset("/toasts.js", "text/javascript", Embedded.toastsJS),
        Asset("/updates.js", "text/javascript", Embedded.updatesJS),
        Asset("/inspector.css", "text/css", Embedded.inspectorCSS),
    ]

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
        Route("GET", asset.path, produces: asset.mediaType) { context in
            if let match = context.head.headers["if-none-match"], etags(in: match, include: asset.etag, weakly: true) {
                return .ready(HTTPResponse(status: 304, headers: asset.headers.filter { $0.0 != "Content-Type" }))
            }
            return .ready(HTTPResponse(status: 200, headers: asset.headers, body: .bytes(asset.bytes)))
        }
    }
}
