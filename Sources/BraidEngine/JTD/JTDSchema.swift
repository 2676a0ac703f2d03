/// A JSON Type Definition (RFC 8927), checked and compiled once. ``errorIndicators(of:limit:)`` returns the places
/// where a value does not match the schema.
///
/// The whole of the RFC is supported. Where the RFC leaves a choice:
/// - Integers are exact: `10.0` and `1e1` are whole, `10.00000000000000000001` is not (section 3.3.3).
/// - A timestamp's second may be `:60` only where a leap second can occur.
/// - Definitions that only refer to each other in a circle are a correct schema (section 2.2.2). Such a schema accepts
///   no value, except `null` if the schema is nullable, and the mismatch says why (section 5 asks implementations to
///   detect such circles).
public struct JTDSchema: Sendable {
    /// The root schema first. The children of one schema are adjacent.
    let nodes: [JTDNode]

    /// One reason why a document is not a correct schema (RFC 8927, section 2).
    public struct SyntaxError: Sendable, Equatable {
        /// To the faulty value in the schema document.
        public var pointer: JSONPointer
        /// The kind, for programs.
        public var code: FaultCode
        /// For a developer: what is there, and what would be correct.
        public var message: String
    }

    /// An error indicator (RFC 8927, section 3.2), with a sentence for people.
    public struct ErrorIndicator: Sendable, Equatable {
        /// To the part of the value that was rejected.
        public var instancePath: JSONPointer
        /// To the part of the schema that rejected it.
        public var schemaPath: JSONPointer
        /// The kind, for programs.
        public var code: FaultCode
        /// For a developer: what is there, and what would be correct.
        public var detail: String
    }

    /// The empty form, which accepts every value.
    static let any = JTDSchema(nodes: [JTDNode()])
}

/// A compiled schema or subschema. Nodes refer to each other by their positions in `JTDSchema.nodes`.
struct JTDNode: Sendable {
    /// RFC 8927, section 2.2. The form `type` has one case for each kind of values.
    enum Form: Sendable {
        case empty
        case boolean, number, string, timestamp
        case integer(ClosedRange<Int>)
        case oneOf(JTDNames)
        case elements(Int)
        case values(Int)
        case properties(Properties)
        case discriminator(Discriminator)
        /// The definition's position. After `followReferences` it is never another reference.
        case reference(Int)
        /// A reference whose chain never ends, so that nothing says what it accepts.
        case circle
    }

    struct Properties: Sendable {
        /// Required ones first.
        var names: JTDNames
        var requiredCount: Int
        /// The position of the first name's schema in `JTDSchema.nodes`; the others follow.
        var first: Int
        var allowsAdditional: Bool
        /// Whether the schema contains `properties`, the keyword that rejects what is no object (RFC 8927, section
        /// 3.3.6).
        var hasRequired: Bool
    }

    struct Discriminator: Sendable {
        var tag: String
        var mapping: JTDNames
        /// The position of the first name's schema in `JTDSchema.nodes`; the others follow. All are of the properties
        /// form.
        var first: Int
    }

    var form = Form.empty
    var isNullable = false
    /// The parent's position, and the path from it: a keyword, and a name if the keyword maps names to schemas.
    var parent = 0
    var keyword = ""
    var name: String?

    /// Where a reference leads; `position` for any other node.
    func target(from position: Int) -> Int {
        if case .reference(let target) = form { target } else { position }
    }
}

/// In the order of the schema, found by their UTF-8 bytes (RFC 8259, section 8.3) in constant time.
struct JTDNames: Sendable {
    private(set) var list: [String] = []
    private var positions: [UTF8Key: Int] = [:]

    /// False if the name is in the list already.
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
    /// To the node's schema in the document. O(depth).
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
