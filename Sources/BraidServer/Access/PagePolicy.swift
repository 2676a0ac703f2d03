import BraidHTTP
import Glibc

/// Which web pages may use the API, and which host names the server answers to.
///
/// Browsers let every page send requests to every server, also on the user's machine. They hide the answers from
/// origins that are not allowed (CORS), but that does not undo a command.
///
/// - With a controller token, a page without it can do no harm: browsers never add a bearer token by themselves.
/// - Without, everyone is a controller, so pages of other origins than `--allow-origin` are refused.
///
/// Sources: WHATWG Fetch, 3.2 (Origin) and 3.3 (CORS protocol); W3C Fetch Metadata Request Headers, 2; RFC 6454, 7.
package struct PagePolicy: Sendable {
    /// As browsers write them: `https://app.example`, `http://localhost:3000`; or `*`.
    private let origins: Set<String>
    private let allowsAll: Bool
    private let isOpen: Bool
    /// Accepted in `Host`, besides IP addresses and localhost; `nil` for all.
    ///
    /// Against DNS rebinding: evil.example resolves to 127.0.0.1, so its page counts as same-origin, but its requests
    /// still have `Host: evil.example`. An IP address cannot be rebound.
    private let hosts: Set<String>?

    /// `isOpen`: there is no token. `hosts` is needed only then, at a loopback address or with origins in
    /// `--allow-origin`.
    package init(origins: [String] = [], isOpen: Bool = true, hosts: Set<String>? = nil) {
        self.origins = Set(origins)
        allowsAll = origins.contains("*")
        self.isOpen = isOpen
        self.hosts = hosts.map {
            $0.union(origins.compactMap { Self.authority($0).map { Self.host($0).lowercased() } })
        }
    }

    /// Throws `misdirectedRequest` for a wrong `Host`; without a token `originNotAllowed` for an API request of a page
    /// that is not allowed, except `OPTIONS`.
    package func check(_ head: HTTPRequestHead) throws {
        if let hosts, let authority = head.host {
            let host = Self.host(authority)
            guard Self.isAddress(host) || Self.isLocal(host) || hosts.contains(host.lowercased()) else {
                throw ProblemError(
                    .misdirectedRequest,
                    "This server needs no token, so it does not answer for the host \"\(host.lowercased())\": web pages could reach it by that name. Use its IP address or localhost, or start it with --allow-origin or a token."
                )
            }
        }
        guard isOpen, head.path.first == "v1", head.method != "OPTIONS", !isFromHere(head) else { return }
        let page = head.headers["origin"].map { "pages of \($0)" } ?? "pages of other sites"
        throw ProblemError(
            .originNotAllowed,
            "This server needs no token, so it refuses requests of \(page). Start it with --allow-origin or a token."
        )
    }

    /// From no page, one of this server, or one of an allowed origin.
    private func isFromHere(_ head: HTTPRequestHead) -> Bool {
        let origin = head.headers["origin"]
        if let origin, allows(origin) { return true }
        // First, because scripts cannot set it. But browsers send it only to localhost and over TLS.
        if let site = head.headers["sec-fetch-site"] { return site == "same-origin" || site == "none" }
        guard let origin else { return true }
        // The scheme may differ: a proxy may have ended TLS.
        guard let own = head.host?.lowercased(), let authority = Self.authority(origin) else { return false }
        return authority == own || authority == own + ":80" || authority == own + ":443" || authority + ":80" == own
            || authority + ":443" == own
    }

    private func allows(_ origin: String) -> Bool { allowsAll || origins.contains(origin) }

    // MARK: CORS

    /// The CORS fields of every answer. `head` is `nil` if it could not be parsed.
    func headers(for head: HTTPRequestHead?) -> [(String, String)] {
        guard !origins.isEmpty else { return [] }
        if allowsAll { return [("Access-Control-Allow-Origin", "*"), Self.exposed] }
        let vary = ("Vary", "Origin")
        guard let origin = head?.headers["origin"], allows(origin) else { return [vary] }
        return [vary, ("Access-Control-Allow-Origin", origin), Self.exposed]
    }

    /// The answer to a CORS preflight; `nil` for other requests, and for pages that may not use the API.
    func preflight(_ head: HTTPRequestHead) -> HTTPResponse? {
        guard head.method == "OPTIONS", head.headers["access-control-request-method"] != nil,
            let origin = head.headers["origin"], allows(origin)
        else { return nil }
        return HTTPResponse(
            status: 204,
            headers: [
                ("Access-Control-Allow-Methods", "DELETE, GET, HEAD, PATCH, POST, PUT"),
                (
                    "Access-Control-Allow-Headers",
                    "Authorization, Content-Encoding, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Prefer, Traceparent, Tracestate, X-Request-Id"
                ),
                ("Access-Control-Max-Age", "7200"),
            ])
    }

    /// Whether this is the preflight of a page that is not allowed. Browsers take an answer without CORS fields as a
    /// refusal.
    func refusesPreflight(_ head: HTTPRequestHead) -> Bool {
        head.method == "OPTIONS" && head.headers["access-control-request-method"] != nil
            && head.headers["origin"] != nil && !isFromHere(head)
    }

    private static let exposed = (
        "Access-Control-Expose-Headers",
        "Accept-Encoding, Accept-Patch, Allow, Braid-Test-Mode, ETag, Idempotent-Replayed, Location, Preference-Applied, Retry-After, Table-Version, WWW-Authenticate, X-Request-Id"
    )

    // MARK: Parts of origins

    /// As browsers write it: lower case, no default port. `nil` if it is no origin; `*` stays.
    package static func origin(_ text: String) -> String? {
        if text == "*" { return text }
        let text = text.lowercased()
        guard text.hasPrefix("http://") || text.hasPrefix("https://"), let authority = authority(text) else {
            return nil
        }
        guard HTTPTarget.isHost(Array(authority.utf8)[...]) else { return nil }
        let own = text.hasPrefix("https") ? ":443" : ":80"
        return text.hasSuffix(own) ? String(text.dropLast(own.utf8.count)) : text
    }

    private static func authority(_ origin: String) -> String? {
        // `firstRange(of:)` would link the 1.2 MB of regular expressions.
        let rest = origin.drop { $0 != ":" }
        guard rest.hasPrefix("://") else { return nil }
        let authority = rest.dropFirst(3)
        return authority.isEmpty || authority.contains("/") ? nil : authority.lowercased()
    }

    /// The host without port, and without a trailing dot as in `example.com.`.
    package static func host(_ authority: String) -> Substring {
        // Runs for every request; bytes are faster than characters.
        let utf8 = authority.utf8
        if utf8.first == UInt8(ascii: "["), let end = utf8.firstIndex(of: UInt8(ascii: "]")) {
            return authority[...end]
        }
        let name = authority[..<(utf8.firstIndex(of: UInt8(ascii: ":")) ?? utf8.endIndex)]
        return name.utf8.last == UInt8(ascii: ".") ? authority[..<utf8.index(before: name.endIndex)] : name
    }

    private static func isLocal(_ host: Substring) -> Bool {
        let last = host.utf8.suffix("localhost".utf8.count), before = host.utf8[..<last.startIndex]
        return last.elementsEqual("localhost".utf8) { $0.lowercased == $1 }
            && (before.isEmpty || before.last == UInt8(ascii: "."))
    }

    private static func isAddress(_ host: Substring) -> Bool {
        switch host.utf8.first {
        case UInt8(ascii: "["): return true
        case let first? where first.isDigit:
            var address = in_addr()
            return inet_pton(AF_INET, String(host), &address) == 1
        default: return false
        }
    }
}
