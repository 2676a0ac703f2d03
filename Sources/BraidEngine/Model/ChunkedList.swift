/// An ordered list in chunks, a value: a copy is O(1), and changing one element of a shared list copies one chunk and
/// the list of chunks, never the elements of the others. So the table of before an edit and the one after it share
/// all but a few hundred elements, and the cost of an edit does not grow with the table.
///
/// Access by index O(log chunks); insert, remove and replace O(chunk + chunks).
public struct ChunkedList<Element: Sendable>: Sendable {
    /// One run of elements; shared between lists by reference, so that equal chunks are recognised at a glance.
    final class Chunk: Sendable {
        let elements: ContiguousArray<Element>
        init(_ elements: ContiguousArray<Element>) { self.elements = elements }
    }

    /// Chunks are split over twice this size and joined with a neighbour under half of it.
    static var chunkSize: Int { 256 }

    /// None is empty.
    private(set) var chunks: ContiguousArray<Chunk> = []
    /// `ends[c]` is the number of elements in `chunks[0...c]`.
    private var ends: ContiguousArray<Int> = []

    public init() {}

    public init(_ elements: some Sequence<Element>) {
        var run = ContiguousArray<Element>()
        for element in elements {
            run.append(element)
            if run.count == Self.chunkSize {
                chunks.append(Chunk(run))
                run.removeAll(keepingCapacity: false)
                run.reserveCapacity(Self.chunkSize)
            }
        }
        if !run.isEmpty { chunks.append(Chunk(run)) }
        recount(from: 0)
    }

    /// The chunk that holds `index`, and the index within it. `index` must be in bounds.
    private func locate(_ index: Int) -> (chunk: Int, offset: Int) {
        var low = 0, high = ends.count - 1
        while low < high {
            let middle = (low + high) / 2
            if ends[middle] <= index { low = middle + 1 } else { high = middle }
        }
        return (low, index - (low == 0 ? 0 : ends[low - 1]))
    }

    private mutating func recount(from first: Int) {
        ends.removeLast(ends.count - Swift.min(first, ends.count))
        var total = ends.last ?? 0
        for chunk in chunks[ends.count...] {
            total += chunk.elements.count
            ends.append(total)
        }
    }

    public mutating func append(_ element: Element) { insert(element, at: count) }

    /// `index` in 0...count.
    public mutating func insert(_ element: Element, at index: Int) {
        precondition(index >= 0 && index <= count, "ChunkedList: index out of bounds")
        guard !chunks.isEmpty else {
            chunks = [Chunk([element])]
            ends = [1]
            return
        }
        let (chunk, offset) = index == count
            ? (chunks.count - 1, chunks[chunks.count - 1].elements.count) : locate(index)
        var elements = chunks[chunk].elements
        elements.insert(element, at: offset)
        if elements.count > 2 * Self.chunkSize {
            let half = elements.count / 2
            chunks[chunk] = Chunk(ContiguousArray(elements[..<half]))
            chunks.insert(Chunk(ContiguousArray(elements[half...])), at: chunk + 1)
        } else {
            chunks[chunk] = Chunk(elements)
        }
        recount(from: chunk)
    }

    @discardableResult
    public mutating func remove(at index: Int) -> Element {
        precondition(index >= 0 && index < count, "ChunkedList: index out of bounds")
        let (chunk, offset) = locate(index)
        var elements = chunks[chunk].elements
        let removed = elements.remove(at: offset)
        if elements.isEmpty {
            chunks.remove(at: chunk)
            recount(from: chunk)
        } else if elements.count < Self.chunkSize / 2, chunk + 1 < chunks.count,
            elements.count + chunks[chunk + 1].elements.count <= Self.chunkSize {
            elements.append(contentsOf: chunks[chunk + 1].elements)
            chunks[chunk] = Chunk(elements)
            chunks.remove(at: chunk + 1)
            recount(from: chunk)
        } else {
            chunks[chunk] = Chunk(elements)
            recount(from: chunk)
        }
        return removed
    }

    /// Calls the body with runs of elements, in order: for loops that must not pay for an index look-up each.
    public func forEachRun(_ body: (ContiguousArray<Element>) throws -> Void) rethrows {
        for chunk in chunks { try body(chunk.elements) }
    }
}

extension ChunkedList: RandomAccessCollection, MutableCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { ends.last ?? 0 }
    public var count: Int { ends.last ?? 0 }

    public subscript(index: Int) -> Element {
        get {
            precondition(index >= 0 && index < count, "ChunkedList: index out of bounds")
            let (chunk, offset) = locate(index)
            return chunks[chunk].elements[offset]
        }
        set {
            precondition(index >= 0 && index < count, "ChunkedList: index out of bounds")
            let (chunk, offset) = locate(index)
            var elements = chunks[chunk].elements
            elements[offset] = newValue
            chunks[chunk] = Chunk(elements)
        }
    }

    public struct Iterator: IteratorProtocol {
        let chunks: ContiguousArray<Chunk>
        var chunk = 0
        var offset = 0

        public mutating func next() -> Element? {
            guard chunk < chunks.count else { return nil }
            let elements = chunks[chunk].elements
            defer {
                offset += 1
                if offset == elements.count { (chunk, offset) = (chunk + 1, 0) }
            }
            return elements[offset]
        }
    }

    public func makeIterator() -> Iterator { Iterator(chunks: chunks) }
}

extension ChunkedList: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: Element...) { self.init(elements) }
}
