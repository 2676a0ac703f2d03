/// A JSON value as a tree: built only where a template, a pointer, a schema or a merge patch has to look inside.
/// Everywhere else JSON travels as `JSONText`, the client's own bytes.
///
/// Numbers keep their digits and objects the order of their members, so that what came in goes out unchanged.
/// Equality is structural: member order does not count, numbers are equal when their values are.
public enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}

/// An object's members in the order in which they were written; names are unique, compared byte by byte.
public struct JSONObject: Sendable {
    public private(set) var members: [(name: String, value: JSONValue)] = []
    /// Positions by name, kept only once a linear search would be slow.
    private var positions: [UTF8Key: Int] = [:]
    private static let linearLimit = 16

    public init() {}

    public init(_ members: [(String, JSONValue)]) {
        for (name, value) in members { self[name] = value }
    }

    /// For names that are known to be unique.
    init(unique members: [(name: String, value: JSONValue)]) {
        self.members = members
        reindex()
    }

    public var count: Int { members.count }
    public var isEmpty: Bool { members.isEmpty }

    /// Setting a name that is there keeps its place; setting nil removes the member.
    public subscript(name: String) -> JSONValue? {
        get { position(of: name).map { members[$0].value } }
        set {
            switch (position(of: name), newValue) {
            case (let position?, let value?): members[position].value = value
            case (let position?, nil):
                members.remove(at: position)
                reindex()
            case (nil, let value?):
                members.append((name, value))
                if members.count > Self.linearLimit {
                    if positions.isEmpty { reindex() } else { positions[UTF8Key(name)] = members.count - 1 }
                }
            case (nil, nil): break
            }
        }
    }

    /// Changes the object that a member is, in place. False: it is none.
    mutating func changeObject<Failure: Error>(_ name: String, _ change: (inout JSONObject) throws(Failure) -> Void) throws(Failure) -> Bool {
        guard let position = position(of: name), case .object(var object) = members[position].value else { return false }
        members[position].value = .null  // held here alone, it is not copied
        try change(&object)
        members[position].value = .object(object)
        return true
    }

    mutating func removeMembers(named names: Set<UTF8Key>) {
        members.removeAll { names.contains(UTF8Key($0.name)) }
        reindex()
    }

    private func position(of name: String) -> Int? {
        if members.count > Self.linearLimit { return positions[UTF8Key(name)] }
        return members.firstIndex { $0.name.hasSameBytes(as: name) }
    }

    private mutating func reindex() {
        positions.removeAll()
        guard members.count > Self.linearLimit else { return }
        for (position, member) in members.enumerated() { positions[UTF8Key(member.name)] = position }
    }
}

extension JSONObject: Equatable {
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        guard left.count == right.count else { return false }
        for (index, member) in left.members.enumerated() {
            // Most often the members stand in the same order.
            let other = right.members[index]
            if other.name.hasSameBytes(as: member.name) {
                guard other.value == member.value else { return false }
            } else {
                guard right[member.name] == member.value else { return false }
            }
        }
        return true
    }
}

/// A string compared and hashed by its UTF-8 bytes, which is JSON's rule; `String` itself compares by canonical
/// equivalence, under which "é" has two spellings.
public struct UTF8Key: Hashable, Sendable {
    public let string: String

    public init(_ string: String) { self.string = string }

    public static func == (left: UTF8Key, right: UTF8Key) -> Bool { left.string.hasSameBytes(as: right.string) }

    public func hash(into hasher: inout Hasher) {
        var string = string
        string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// In messages it is the string.
extension UTF8Key: CustomStringConvertible {
    public var description: String { string }
}

extension String {
    /// Equality of the UTF-8 bytes.
    @inline(__always)
    public func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        var left = self, right = other
        return left.withUTF8 { left in
            right.withUTF8 { UnsafeRawBufferPointer(left).hasSameBytes(as: UnsafeRawBufferPointer($0)) }
        }
    }
}
