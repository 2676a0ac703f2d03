import BraidHTTP
import BraidRuntime
import BraidSessions
import BraidStore

// Conditional requests (RFC 9110, 13).

extension Route {
    /// Throws `preconditionFailed` for a condition that the route does not evaluate: none may be ignored (13.1.1,
    /// 13.1.2), except by a GET, which does no harm. Nothing has a date for `If-Unmodified-Since` (13.1.4).
    func checkConditions(_ head: HTTPRequestHead) throws {
        guard method != "GET" else { return }
        if !obeysIfMatch, head.headers["if-match"] != nil {
            throw ProblemError(
                .preconditionFailed,
                "\(method) \(head.plainPath) does not support If-Match. Only requests that change or end a session do, and PUT /v1/tables/{table}. Send the request without it."
            )
        }
        if !obeysIfNoneMatch, head.headers["if-none-match"] != nil {
            throw ProblemError(
                .preconditionFailed,
                "\(method) \(head.plainPath) does not support If-None-Match. Only GET and HEAD do, and PUT /v1/tables/{table}. Send the request without it."
            )
        }
    }
}

extension HTTPRequestHead {
    /// `If-Match`: contains the session's current tag, in any coding, or is `*`.
    var positionCondition: PositionCondition? {
        headers["if-match"].map { list in
            PositionCondition(list) { position in
                entityTags(position.entityTag).contains { etags(in: list, include: $0, weakly: false) }
            }
        }
    }

    /// The tag in `If-None-Match` that names the current content, for a 304. A cache answers with its body of this tag,
    /// so tags of codings that the client excludes do not count.
    func knownTag(_ etag: String) -> String? {
        guard let list = headers["if-none-match"] else { return nil }
        let encodings = acceptEncoding
        func isKnown(_ tag: String, _ coding: ContentCoding?) -> Bool {
            etags(in: list, include: tag, weakly: true) && encodings?.accepts(coding) ?? true
        }
        if isKnown(etag, nil) { return etag }
        return ContentCoding.allCases.lazy.map { ($0, entityTag(etag, in: $0)) }.first { isKnown($1, $0) }?.1
    }

    func notModified(_ etag: String) -> HTTPResponse? {
        knownTag(etag).map { HTTPResponse(status: 304, headers: [("ETag", $0)]) }
    }
}

extension HTTPRequestHead {
    /// Checks against the latest version; `nil` if the table is not registered. `If-None-Match: *` only creates. Throws
    /// `etagMismatch`, with the latest `ETag`.
    func checkConditions(on table: StoredTable?, named name: String) throws {
        func failure(_ detail: String) -> ProblemError {
            ProblemError(.etagMismatch, detail, headers: table.map { [("ETag", $0.entityTag)] } ?? [])
        }
        /// In any coding.
        func names(_ list: String, _ tag: String, weakly: Bool) -> Bool {
            entityTags(tag).contains { etags(in: list, include: $0, weakly: weakly) }
        }
        let tag = table?.entityTag
        if let list = headers["if-match"], !(tag.map { names(list, $0, weakly: false) } ?? false) {
            throw failure(
                tag.map { "The table \"\(name)\" is at \($0), not at \(list). Get the table, then decide again." }
                    ?? "The table \"\(name)\" is not registered, so it is not at \(list).")
        }
        if let list = headers["if-none-match"], let table, names(list, table.entityTag, weakly: true) {
            throw failure(
                "The table \"\(name)\" is registered already, in version \(table.version). Nothing was replaced (If-None-Match)."
            )
        }
    }
}

extension StoredTable {
    /// A table registered later under the same name and version has another tag.
    var entityTag: String { "\"\(version).\(updated)\"" }
}

/// The tag, and those of the same content in each coding.
private func entityTags(_ etag: String) -> [String] { [etag] + ContentCoding.allCases.map { entityTag(etag, in: $0) } }

extension Position {
    var entityTag: String { "\"\(self)\"" }
}

/// Tags can contain commas (RFC 9110, 8.8.3 and 13.1). `weakly` ignores `W/`.
func etags(in list: String, include etag: String, weakly: Bool) -> Bool {
    if list == etag || list == "*" { return true }  // Most lists are `*` or a single tag and need no parsing.
    let quote = UInt8(ascii: "\"")
    var rest = list.utf8[...]
    while true {
        rest = rest.drop { $0.isBlank || $0 == UInt8(ascii: ",") }
        let isWeak = rest.starts(with: "W/".utf8)
        if isWeak { rest = rest.dropFirst(2) }
        guard rest.first == quote, let end = rest.dropFirst().firstIndex(of: quote) else { return false }
        if weakly || !isWeak, rest[...end].elementsEqual(etag.utf8) { return true }
        rest = rest[end...].dropFirst()
    }
}
