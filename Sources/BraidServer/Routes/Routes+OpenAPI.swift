import BraidEngine

/// The API's description of itself, for everyone: there is nothing in it that the source does not say.
func openAPIRoutes() -> [Route] {
    [
        Route("GET", "/openapi.json") { context in
            // A new version of the server may have another one.
            let headers = [("ETag", OpenAPI.etag), ("Cache-Control", "no-cache")]
            if let match = context.head.headers["if-none-match"], etags(in: match, include: OpenAPI.etag, weakly: true) {
                return .ready(HTTPResponse(status: 304, headers: headers))
            }
            return .ready(HTTPResponse(status: 200, headers: [("Content-Type", "application/json")] + headers, body: .bytes(OpenAPI.bytes)))
        }
    ]
}

/// The document of OpenAPI 3.1. docs/openapi.json is where it is written.
enum OpenAPI {
    static let bytes = Array(text.utf8)
    static let etag = "\"\(SHA256.digest(of: bytes).prefix(8).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())\""
}
