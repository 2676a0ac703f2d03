/// A JSON value as a tree, for code that looks inside; ``JSONText`` only passes JSON on.
///
/// Numbers keep their digits, objects their order; equality ignores both.
public enum JSONValue: Sendable, Equatable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// As written.
    case number(JSONNumber)
    /// Unescaped.
    case string(String)
    /// In order.
    case array([JSONValue])
    /// In order.
    case object(JSONObject)
}

/// Members in order, with unique names, compared by UTF-8 bytes.
public struct JSONObject: Sendable {
    /// A new one comes last; a replaced one keeps its place.
    public private(set) var members: [(name: String, value: JSONValue)] = []
    /// Empty up to `linearLimit` members: searching is fast enough.
    private var positions: [UTF8Key: Int] = [:]
    private static let linearLimit = 16

    /// No members.
    public init() {}

    /// `capacity`: expected members.
    init(capacity: Int) { members.reserveCapacity(capacity) }

    /// Of two with one name, the later wins.
    public init(_ members: [(String, JSONValue)]) {
        for (name, value) in members { self[name] = value }
    }

    /// The names must be unique.
    init(unique members: [(name: String, value: JSONValue)]) {
        self.members = members
        reindex()
    }

    /// Of members.
    public var count: Int { members.count }
    /// No members.
    public var isEmpty: Bool { members.isEmpty }

    /// Setting keeps the place, `nil` removes. O(1) expected, O(members) for removing.
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

    /// Changes a member in place; false if it is missing or no object. If `change` throws, the member stays `null`.
    mutating func changeObject<Failure: Error>(_ name: String, _ change: (inout JSONObject) throws(Failure) -> Void)
        throws(Failure) -> Bool
    {
        guard let position = position(of: name), case .object(var object) = members[position].value else {
            return false
        }
        members[position].value = .null  // The only reference is now `object`, so `change` copies nothing.
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
            // Mostly, the order is the same.
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

/// Compared by UTF-8 bytes, as JSON's names. `String` compares by canonical equivalence: composed and decomposed "é"
/// are equal.
public struct UTF8Key: Hashable, Sendable, CustomStringConvertible {
    /// As written.
    public let string: String

    /// Creates a key.
    public init(_ string: String) { self.string = string }

    public static func == (left: UTF8Key, right: UTF8Key) -> Bool { left.string.hasSameBytes(as: right.string) }

    public func hash(into hasher: inout Hasher) {
        var string = string
        string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    public var description: String { string }
}

extension String {
    /// By UTF-8 bytes.
    @inline(__always)
    public func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        var left = self, right = other
        return left.withUTF8 { left in
            right.withUTF8 { UnsafeRawBufferPointer(left).hasSameBytes(as: UnsafeRawBufferPointer($0)) }
        }
    }
}
