/// A value that has a form in JSON.
public protocol JSONWritable {
    /// Writes exactly one JSON value.
    func write(to writer: inout JSONWriter)
}

// JSON in the shape of its literal. All of this is inlined, so the closures cost neither a call nor an allocation.
extension JSONWriter {
    /// Writes an object whose members a closure writes:
    ///
    /// ```swift
    /// writer.object {
    ///     $0.member("revision", 7)
    ///     $0.member("reason", reason)  // omitted if nil
    ///     $0.array("rows", of: rows) { $0.value($1.json) }
    /// }
    /// ```
    @inlinable @inline(__always)
    public mutating func object(_ members: (inout JSONWriter) -> Void) {
        beginObject()
        members(&self)
        endObject()
    }

    /// Writes an array whose elements a closure writes.
    @inlinable @inline(__always)
    public mutating func array(_ elements: (inout JSONWriter) -> Void) {
        beginArray()
        elements(&self)
        endArray()
    }

    /// Writes an array, one value for each element.
    @inlinable @inline(__always)
    public mutating func array<Elements: Sequence>(
        of elements: Elements, _ write: (inout JSONWriter, Elements.Element) -> Void
    ) {
        beginArray()
        for element in elements { write(&self, element) }
        endArray()
    }

    /// Writes any other value. An optional that is `nil` becomes `null`.
    @inlinable @inline(__always)
    public mutating func value(_ value: some JSONWritable) { value.write(to: &self) }

    /// Writes a member, unless the value is `nil`.
    @inlinable @inline(__always)
    public mutating func member(_ name: StaticString, _ value: (some JSONWritable)?) {
        guard let value else { return }
        self.name(name)
        value.write(to: &self)
    }

    /// Writes a member whose name is no literal, unless the value is `nil`.
    @_disfavoredOverload
    @inlinable @inline(__always)
    public mutating func member(_ name: String, _ value: (some JSONWritable)?) {
        guard let value else { return }
        self.name(name)
        value.write(to: &self)
    }

    /// Writes a member whose value is an object.
    @inlinable @inline(__always)
    public mutating func object(_ name: StaticString, _ members: (inout JSONWriter) -> Void) {
        self.name(name)
        object(members)
    }

    /// Writes a member whose value is an array.
    @inlinable @inline(__always)
    public mutating func array(_ name: StaticString, _ elements: (inout JSONWriter) -> Void) {
        self.name(name)
        array(elements)
    }

    /// Writes a member whose value is an array, one value for each element.
    @inlinable @inline(__always)
    public mutating func array<Elements: Sequence>(
        _ name: StaticString, of elements: Elements, _ write: (inout JSONWriter, Elements.Element) -> Void
    ) {
        self.name(name)
        array(of: elements, write)
    }

    /// Writes a member whose value is an array, unless the array is empty.
    @inlinable @inline(__always)
    public mutating func nonEmptyArray<Elements: Collection>(
        _ name: StaticString, of elements: Elements, _ write: (inout JSONWriter, Elements.Element) -> Void
    ) {
        if !elements.isEmpty { array(name, of: elements, write) }
    }
}

extension JSONText {
    /// Writes a value as compact text.
    @inlinable
    public init(_ value: some JSONWritable) {
        var writer = JSONWriter()
        value.write(to: &writer)
        self = writer.text
    }

    /// Creates an object from its members, whose names must differ.
    package init(object members: [(name: String, value: JSONText)]) {
        self = .object {
            for (name, value) in members { $0.member(name, value) }
        }
    }

    /// Returns an object in the shape of its literal. `capacity` is the expected number of bytes.
    @inlinable @inline(__always)
    public static func object(
        capacity: Int = 0, _ members: (inout JSONWriter) -> Void
    ) -> JSONText {
        var writer = JSONWriter(capacity: capacity)
        writer.object(members)
        return writer.text
    }
}

extension Int: JSONWritable {
    @inlinable public func write(to writer: inout JSONWriter) { writer.value(self) }
}

extension Bool: JSONWritable {
    @inlinable public func write(to writer: inout JSONWriter) { writer.value(self) }
}

extension String: JSONWritable {
    @inlinable public func write(to writer: inout JSONWriter) { writer.value(self) }
}

extension JSONText: JSONWritable {
    @inlinable public func write(to writer: inout JSONWriter) { writer.value(self) }
}

extension JSONValue: JSONWritable {
    @inlinable public func write(to writer: inout JSONWriter) { writer.value(self) }
}

extension Array: JSONWritable where Element: JSONWritable {
    @inlinable
    public func write(to writer: inout JSONWriter) { writer.array(of: self) { $1.write(to: &$0) } }
}

extension Optional: JSONWritable where Wrapped: JSONWritable {
    @inlinable
    public func write(to writer: inout JSONWriter) {
        if let value = self { value.write(to: &writer) } else { writer.null() }
    }
}
