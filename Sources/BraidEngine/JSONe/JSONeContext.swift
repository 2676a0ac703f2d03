import Synchronization

/// The names that a template may read, each `[a-zA-Z_][a-zA-Z0-9_]*`. Extending a copy copies no value.
public struct JSONeContext: Sendable {
    private enum Slot: Sendable {
        case value(JSONValue)
        case lazy(LazyValue)
    }

    private struct Entry: Sendable {
        let name: String
        var slot: Slot
    }

    private var entries: [Entry] = []
    /// Empty up to `linearLimit` names: these are searched.
    private var places: [UTF8Key: Int] = [:]
    private static let linearLimit = 16
    /// RFC 3339: the value of the name `now`, unless that is set.
    public let now: String
    /// For all its renderings together.
    var sharedBudget: SharedJSONeBudget?
    /// Without it, no `uuid()`.
    var ids: IDSource?

    /// Of two with one name, the later wins.
    public init(now: String, _ names: [(String, JSONValue)] = []) {
        self.now = now
        for (name, value) in names { self[name] = value }
    }

    /// Throws ``JSONeError`` for a name that is no identifier, with the name as its pointer.
    public init(now: String, _ object: JSONObject) throws(JSONeError) {
        if let name = object.members.first(where: { !$0.name.isTemplateIdentifier })?.name {
            throw .interpreter("a name of the context must follow /[a-zA-Z_][a-zA-Z0-9_]*/").inside(name)
        }
        self.init(now: now, object.members.map { ($0.name, $0.value) })
    }

    /// Reading computes lazy values; setting `nil` removes the name.
    public subscript(name: String) -> JSONValue? {
        get {
            guard let position = position(of: name) else { return name == "now" ? .string(now) : nil }
            switch entries[position].slot {
            case .value(let value): return value
            case .lazy(let lazy): return lazy.value
            }
        }
        set {
            if let newValue {
                set(name, .value(newValue))
            } else if let position = position(of: name) {
                entries.remove(at: position)
                places.removeAll()
                indexNames(from: 0)
            }
        }
    }

    /// Computed when first read, once for all copies.
    public mutating func lazy(_ name: String, _ make: @escaping @Sendable () -> JSONValue) {
        set(name, .lazy(LazyValue(make)))
    }

    /// Does not compute a lazy value.
    public func contains(_ name: String) -> Bool { name == "now" || position(of: name) != nil }

    private mutating func set(_ name: String, _ slot: Slot) {
        if let position = position(of: name) {
            entries[position].slot = slot
        } else {
            entries.append(Entry(name: name, slot: slot))
            indexNames(from: places.isEmpty ? 0 : entries.count - 1)
        }
    }

    private func position(of name: String) -> Int? {
        if entries.count > Self.linearLimit { return places[UTF8Key(name)] }
        return entries.firstIndex { $0.name.hasSameBytes(as: name) }
    }

    private mutating func indexNames(from start: Int) {
        guard entries.count > Self.linearLimit else { return }
        for position in start..<entries.count { places[UTF8Key(entries[position].name)] = position }
    }
}

private final class LazyValue: Sendable {
    private let made = Mutex<JSONValue?>(nil)
    private let make: @Sendable () -> JSONValue

    init(_ make: @escaping @Sendable () -> JSONValue) { self.make = make }

    var value: JSONValue {
        // Others wait while `make` runs, so that it runs once; it must not read its own value.
        made.withLock { made in
            if let made { return made }
            let value = make()
            made = value
            return value
        }
    }
}
