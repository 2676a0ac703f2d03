/// A JSON Type Definition (RFC 8927), compiled once.
///
/// ```swift
/// let (schema, faults) = JTDSchema.compile(["properties": ["name": ["type": "string"]]])
/// schema?.errorIndicators(of: ["name": 1])  // at /name
/// ```
/// The whole RFC. Where it leaves a choice:
/// - Integers are exact: `10.0` and `1e1` are whole, `10.00000000000000000001` is not (3.3.3).
/// - `:60` only where a leap second can occur.
/// - Definitions in a circle are correct (2.2.2), but accept nothing, except `null` if nullable; the mismatch says why
///   (5).
public struct JTDSchema: Sendable {
    /// The root first; children are adjacent.
    let nodes: [JTDNode]

    /// Why a schema is incorrect (RFC 8927, section 2).
    public struct SyntaxError: Sendable, Equatable {
        /// To the faulty value.
        public var pointer: JSONPointer
        /// For programs.
        public var code: FaultCode
        /// For developers: what is there, and what would be correct.
        public var message: String
    }

    /// An error indicator (RFC 8927, 3.2), with a sentence.
    public struct ErrorIndicator: Sendable, Equatable {
        /// To the rejected part.
        public var instancePath: JSONPointer
        /// To what rejected it.
        public var schemaPath: JSONPointer
        /// For programs.
        public var code: FaultCode
        /// For developers: what is there, and what would be correct.
        public var detail: String
    }

    /// Accepts every value.
    static let any = JTDSchema(nodes: [JTDNode()])
}

/// Nodes refer to each other by position in `JTDSchema.nodes`.
struct JTDNode: Sendable {
    /// RFC 8927, 2.2; `type` has a case for each kind of value.
    enum Form: Sendable {
        case empty
        case boolean, number, string, timestamp
        case integer(ClosedRange<Int>)
        case oneOf(JTDNames)
        case elements(Int)
        case values(Int)
        case properties(Properties)
        case discriminator(Discriminator)
        /// After `followReferences`, never another reference.
        case reference(Int)
        /// An endless chain: nothing says what it accepts.
        case circle
    }

    struct Properties: Sendable {
        /// Required first.
        var names: JTDNames
        var requiredCount: Int
        /// Position of the first name's schema; the others follow.
        var first: Int
        var allowsAdditional: Bool
        /// Contains `properties`, which then rejects what is no object (RFC 8927, 3.3.6).
        var hasRequired: Bool
    }

    struct Discriminator: Sendable {
        var tag: String
        var mapping: JTDNames
        /// Position of the first name's schema; the others follow. All have the properties form.
        var first: Int
    }

    var form = Form.empty
    var isNullable = false
    /// The schema around it, and the path from there: a keyword, maybe a name.
    var parent = 0
    var keyword = ""
    var name: String?

    /// Itself if it is no reference.
    func target(from position: Int) -> Int {
        if case .reference(let target) = form { target } else { position }
    }
}

/// In order; found by UTF-8 bytes (RFC 8259, 8.3) in O(1).
struct JTDNames: Sendable {
    private(set) var list: [String] = []
    private var positions: [UTF8Key: Int] = [:]

    /// False for a duplicate.
    @discardableResult
    mutating func append(_ name: String) -> Bool {
        guard positions[UTF8Key(name)] == nil else { return false }
        positions[UTF8Key(name)] = list.count
        list.append(name)
        return true
    }

    func position(of name: String) -> Int? { positions[UTF8Key(name)] }
}

extension [JTDNode] {
    /// O(depth).
    func pointer(to position: Int) -> JSONPointer {
        var tokens: [String] = [], position = position
        while position != 0 {
            if let name = self[position].name { tokens.append(name) }
            tokens.append(self[position].keyword)
            position = self[position].parent
        }
        return JSONPointer(tokens: tokens.reversed())
    }
}
