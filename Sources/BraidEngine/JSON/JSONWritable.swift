/// Has a form in JSON.
public protocol JSONWritable {
    /// Exactly one value.
    func write(to writer: inout JSONWriter)
}

// Code in the shape of the JSON that it writes. All inlined: closures cost no call and no allocation.
extension JSONWriter {
    /// An object:
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

    /// An array.
    @inlinable @inline(__always)
    public mutating func array(_ elements: (inout JSONWriter) -> Void) {
        beginArray()
        elements(&self)
        endArray()
    }

    /// An array with a value for each element.
    @inlinable @inline(__always)
    public mutating func array<Elements: Sequence>(
        of elements: Elements, _ write: (inout JSONWriter, Elements.Element) -> Void
    ) {
        beginArray()
        for element in elements { write(&self, element) }
        endArray()
    }

    /// Any other value; `nil` becomes `null`.
    @inlinable @inline(__always)
    public mutating func value(_ value: some JSONWritable) { value.write(to: &self) }

    /// A member, unless `nil`.
    @inlinable @inline(__always)
    public mutating func member(_ name: StaticString, _ value: (some JSONWritable)?) {
        guard let value else { return }
        self.name(name)
        value.write(to: &self)
    }

    /// A member whose name is no literal, unless `nil`.
    @_disfavoredOverload
    @inlinable @inline(__always)
    public mutating func member(_ name: String, _ value: (some JSONWritable)?) {
        guard let value else { return }
        self.name(name)
        value.write(to: &self)
    }

    /// A member that is an object.
    @inlinable @inline(__always)
    public mutating func object(_ name: StaticString, _ members: (inout JSONWriter) -> Void) {
        self.name(name)
        object(members)
    }

    /// A member that is an array.
    @inlinable @inline(__always)
    public mutating func array(_ name: StaticString, _ elements: (inout JSONWriter) -> Void) {
        self.name(name)
        array(elements)
    }

    /// A member that is an array, with a value for each element.
    @inlinable @inline(__always)
    public mutating func array<Elements: Sequence>(
        _ name: StaticString, of elements: Elements, _ write: (inout JSONWriter, Elements.Element) -> Void
    ) {
        self.name(name)
        array(of: elements, write)
    }

    /// As `array`, unless empty.
    @inlinable @inline(__always)
    public mutating func nonEmptyArray<Elements: Collection>(
        _ name: StaticString, of elements: Elements, _ write: (inout JSONWriter, Elements.Element) -> Void
    ) {
        if !elements.isEmpty { array(name, of: elements, write) }
    }
}

extension JSONText {
    /// Writes a value.
    @inlinable
    public init(_ value: some JSONWritable) {
        var writer = JSONWriter()
        value.write(to: &writer)
        self = writer.text
    }

    /// Names must differ.
    package init(object members: [(name: String, value: JSONText)]) {
        let size = members.reduce(2) { $0 + $1.name.utf8.count + $1.value.count + 4 }
        self = .object(capacity: size) {
            for (name, value) in members { $0.member(name, value) }
        }
    }

    /// An object, written as by `JSONWriter.object`. `capacity`: expected bytes.
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
