/// A JSON Type Definition (RFC 8927), checked and compiled once. It finds where a value does not match.
///
/// The whole of the RFC is supported. Where the RFC leaves a choice:
/// - Integers are exact: `10.0` and `1e1` are whole, `10.00000000000000000001` is not (section 3.3.3).
/// - A timestamp's second may be `:60` only where a leap second can occur.
/// - Definitions that only refer to each other in a circle are a correct schema (section 2.2.2). The schema accepts no
///   value, except `null` if it is nullable, and the mismatch says why (section 5 asks implementations to detect this).
public struct JTDSchema: Sendable {
    /// The root is the first; a schema's children lie beside each other.
    let nodes: [JTDNode]

    /// One reason why a document is not a correct schema (RFC 8927, section 2).
    public struct Fault: Sendable, Equatable {
        /// The pointer to the faulty value in the schema document.
        public var pointer: JSONPointer
        /// For a developer: what the document contains there, and what would be correct.
        public var message: String

        /// Creates a fault.
        public init(pointer: JSONPointer, message: String) {
            self.pointer = pointer
            self.message = message
        }
    }

    /// One error indicator of RFC 8927, section 3.2, with a sentence for people.
    public struct Mismatch: Sendable, Equatable {
        /// The pointer to the part of the value that was rejected.
        public var instancePath: JSONPointer
        /// The pointer to the part of the schema that rejected it.
        public var schemaPath: JSONPointer
        /// For a developer: what the value contains there, and what would be correct.
        public var detail: String

        /// Creates a mismatch.
        public init(instancePath: JSONPointer, schemaPath: JSONPointer, detail: String) {
            self.instancePath = instancePath
            self.schemaPath = schemaPath
            self.detail = detail
        }
    }

    /// The empty form: every value is accepted.
    static let any = JTDSchema(nodes: [JTDNode()])
}

/// A schema or subschema, compiled. Others are named by their positions in `JTDSchema.nodes`.
struct JTDNode: Sendable {
    /// The eight forms (section 2.2), `type` by what it accepts, `ref` by where it leads in the end.
    enum Form: Sendable {
        case empty
        case boolean, number, string, timestamp
        case integer(ClosedRange<Int>)
        case oneOf(JTDNames)
        case elements(Int)
        case values(Int)
        case properties(Properties)
        case discriminator(Discriminator)
        /// Never to another reference: chains are followed when the schema is compiled.
        case reference(Int)
        /// A reference that leads back to itself without ever saying what is accepted.
        case circle
    }

    struct Properties: Sendable {
        /// Required ones first.
        var names: JTDNames
        var requiredCount: Int
        /// Node of the first name; the others follow.
        var first: Int
        var allowsAdditional: Bool
        /// The member `properties` is there: it is blamed when the value is no object (section 3.3.6).
        var hasRequired: Bool
    }

    struct Discriminator: Sendable {
        var tag: String
        var mapping: JTDNames
        /// Node of the first name's schema; the others follow. All are of the properties form.
        var first: Int
    }

    var form = Form.empty
    var isNullable = false
    /// The way from the parent's schema to this: a keyword, and a name where the keyword has a schema for each name.
    var parent = 0
    var keyword = ""
    var name: String?

    /// This node's position, or the one that it refers to.
    func target(from position: Int) -> Int {
        if case .reference(let target) = form { target } else { position }
    }
}

/// Names in the order of the schema, found by their UTF-8 bytes (RFC 8259, section 8.3) in constant time.
struct JTDNames: Sendable {
    private(set) var list: [String] = []
    private var positions: [UTF8Key: Int] = [:]

    /// False when the name was there already.
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
    /// Where a node's schema stands in the document. O(depth).
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
