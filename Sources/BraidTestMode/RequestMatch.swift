import BraidEngine
import BraidHTTP
import BraidServer

/// Conditions that must all be met; without any, every request matches.
struct RequestMatch: Sendable {
    struct Mismatch: Sendable {
        /// In the match's JSON: `/headers/idempotency-key`.
        var member: JSONPointer
        var expected: JSONText
        /// `nil`: the request has none.
        var actual: JSONText?
    }

    static let members = ["method", "path", "session", "role", "token", "headers", "query", "body"]
    static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    private var method: String?
    /// A glob per segment; a last `**` is any number of segments.
    private var path: String?
    private var session: String?
    private var role: Role?
    private var token: String?
    private var headers: [(name: String, value: Glob)] = []
    private var query: [(name: String, value: Glob)] = []
    /// Contained in the body: objects may have more members.
    private var body: JSONValue?

    init() {}

    /// The object may have further members.
    init(_ object: BodyReader) throws {
        if let method = try object.string("method") {
            guard Self.methods.contains(method) else {
                throw object.fault(
                    "method", .invalidValue, "a method is one of \(Self.methods.joined(separator: ", "))")
            }
            self.method = method
        }
        if let path = try object.string("path") {
            let segments = path.split(separator: "/", omittingEmptySubsequences: false)
            guard segments.first == "", segments.count > 1, !segments.dropLast().contains("**") else {
                throw object.fault(
                    "path", .invalidValue,
                    "a path starts with /; * stands for one segment or a part of one, and a last segment ** for any rest"
                )
            }
            self.path = path
        }
        session = try object.string("session")
        if let name = try object.string("role") {
            guard let role = Role(rawValue: name) else {
                throw object.fault(
                    "role", .invalidValue,
                    "a role is one of \(Role.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            self.role = role
        }
        token = try object.string("token")
        headers = try object.globs("headers").map { ($0.name.lowercased(), $0.value) }
        query = try object.globs("query")
        body = object["body"]?.value()
    }

    func matches(_ request: TestedRequest) -> Bool { mismatches(of: request).isEmpty }

    func mismatches(of request: TestedRequest) -> [Mismatch] {
        var found: [Mismatch] = []
        func check(_ pointer: String..., expecting expected: String?, got actual: String?, _ isMet: Bool) {
            guard let expected, !isMet else { return }
            found.append(
                Mismatch(
                    member: JSONPointer(tokens: pointer), expected: JSONText(.string(expected)),
                    actual: actual.map { JSONText(.string($0)) }))
        }
        let head = request.head
        check("method", expecting: method, got: head.method, head.method == method)
        if let path { check("path", expecting: path, got: head.plainPath, Self.covers(path, head.path)) }
        check("session", expecting: session, got: request.session, request.session == session)
        let role = request.requester?.role
        check("role", expecting: self.role?.rawValue, got: role?.rawValue, role == self.role)
        let token = request.requester?.token?.id
        check("token", expecting: self.token, got: token, token == self.token)
        for (name, value) in headers {
            let values = head.headers.values(name)
            check(
                "headers", name, expecting: value.pattern, got: head.headers[name],
                values.contains(where: value.matches))
        }
        for (name, value) in query {
            let values = head.query.filter { $0.name == name }.map(\.value)
            check("query", name, expecting: value.pattern, got: values.last, values.contains(where: value.matches))
        }
        if let body { Self.compare(body, request.json, at: JSONPointer(tokens: ["body"]), &found) }
        return found
    }

    private static func covers(_ pattern: String, _ path: [String]) -> Bool {
        var parts = pattern.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        let hasRest = parts.last == "**"
        if hasRest { parts.removeLast() }
        guard hasRest ? path.count >= parts.count : path.count == parts.count else { return false }
        return zip(parts, path).allSatisfy { Glob($0).matches($1) }
    }

    /// Objects may have more members; other values must be equal.
    private static func compare(
        _ part: JSONValue, _ whole: JSONValue?, at pointer: JSONPointer, _ found: inout [Mismatch]
    ) {
        if case .object(let members) = part, case .object(let object)? = whole {
            for (name, value) in members.members {
                compare(value, object[name], at: pointer.appending(name), &found)
            }
        } else if part != whole {
            found.append(Mismatch(member: pointer, expected: JSONText(part), actual: whole.map { JSONText($0) }))
        }
    }
}

// MARK: - Reading members

extension BodyReader {
    func string(_ name: String) throws(Refusal) -> String? {
        guard let value = self[name] else { return nil }
        guard let string = value.stringValue else { throw fault(name, .wrongType, "must be a string") }
        return string
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws(Refusal) -> Int? {
        try self[name] == nil ? nil : requiredInteger(name, in: range)
    }

    func requiredInteger(_ name: String, in range: ClosedRange<Int>) throws(Refusal) -> Int {
        let value = try required(name)
        guard let integer = value.intValue, range.contains(integer) else {
            let least = range.lowerBound == .min ? "" : " from \(range.lowerBound)"
            let most = range.upperBound == .max ? "" : " to \(range.upperBound)"
            throw fault(name, .rejecting(value.kind, accepting: .number), "must be an integer\(least)\(most)")
        }
        return integer
    }

    /// The only one of `Name` that the body has. Throws `rule`, followed by all names, if it has none or several.
    func onlyMember<Name>(_ rule: String) throws(Refusal) -> Name
    where Name: CaseIterable & RawRepresentable<String> {
        let given = Name.allCases.filter { self[$0.rawValue] != nil }
        guard given.count == 1, let name = given.first else {
            let names = Name.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")
            throw .bad(pointer, given.isEmpty ? .missingMember : .conflict, "\(rule) \(names)")
        }
        return name
    }

    /// An object of strings.
    fileprivate func globs(_ name: String) throws(Refusal) -> [(name: String, value: Glob)] {
        guard let value = self[name] else { return [] }
        let place = place(of: name)
        return try Self.members(value, at: place, what: "strings").map { member throws(Refusal) in
            guard let pattern = member.value.stringValue else {
                throw .bad(
                    place.appending(member.name), .wrongType, "must be a string, in which * stands for any characters")
            }
            return (member.name, Glob(pattern))
        }
    }
}

// MARK: - Glob

/// `*` is any number of characters.
struct Glob: Sendable {
    let pattern: String

    init(_ pattern: String) { self.pattern = pattern }

    func matches(_ text: String) -> Bool {
        let parts = Array(pattern.utf8), text = Array(text.utf8), star = UInt8(ascii: "*")
        var part = 0, at = 0
        // Where to go back to when bytes after the last star do not match: it then takes one more.
        var retry: (part: Int, at: Int)?
        while at < text.count {
            if part < parts.count, parts[part] == star {
                retry = (part + 1, at)
                part += 1
            } else if part < parts.count, parts[part] == text[at] {
                part += 1
                at += 1
            } else if let last = retry {
                retry = (last.part, last.at + 1)
                (part, at) = (last.part, last.at + 1)
            } else {
                return false
            }
        }
        return parts[part...].allSatisfy { $0 == star }
    }
}
