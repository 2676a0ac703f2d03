import Synchronization

// Braid's Rx bindings, with asynchronous sequences.

/// What a sequence gave last.
final class Latest<Element: Sendable>: Sendable {
    private let element: Mutex<Element>

    init(_ first: Element) { element = Mutex(first) }

    var value: Element { element.withLock { $0 } }

    func set(_ new: Element) { element.withLock { $0 = new } }
}

final class Subscribers: Sendable {
    private let continuations = Mutex<(next: Int, all: [Int: AsyncStream<BatchUpdate>.Continuation])>((0, [:]))

    func stream() -> AsyncStream<BatchUpdate> {
        let (stream, continuation) = AsyncStream.makeStream(of: BatchUpdate.self)
        let number = continuations.withLock { continuations in
            defer { continuations.next += 1 }
            continuations.all[continuations.next] = continuation
            return continuations.next
        }
        continuation.onTermination = { [weak self] _ in
            self?.continuations.withLock { _ = $0.all.removeValue(forKey: number) }
        }
        return stream
    }

    // Neither holds the lock while it calls a continuation, which may call `onTermination`, which takes the lock.

    func send(_ update: BatchUpdate) {
        for continuation in continuations.withLock({ Array($0.all.values) }) { continuation.yield(update) }
    }

    func finish() {
        for continuation in continuations.withLock({ Array($0.all.values) }) { continuation.finish() }
    }
}

extension ProgramBindings {
    func latest<Elements: AsyncSequence & Sendable>(
        of elements: Elements, initially first: Elements.Element
    ) -> () -> Elements.Element where Elements.Element: Sendable {
        let latest = Latest(first)
        sources.append { arrived in
            for try await element in elements {
                latest.set(element)
                arrived()
            }
        }
        return { latest.value }
    }
}

// Sequences instead of closures. Other closures can call what `latest(of:initially:)` returns.
extension BindingChain where Model == Never {
    /// For one section: the sequence's latest models, none before the first
    /// (``SectionedTableBinder/observe(isolation:)``).
    @discardableResult
    public func bind<NewCell: ReuseIdentifiable, NewModel: Sendable, Models: AsyncSequence & Sendable>(
        cellType: NewCell.Type, models: Models
    ) -> BindingChain<Section, NewCell, NewModel> where Models.Element == [NewModel] {
        bind(cellType: cellType, models: bindings.latest(of: models, initially: []))
    }

    /// The sequence's latest models, none before the first (``SectionedTableBinder/observe(isolation:)``).
    @discardableResult
    public func bind<NewCell: ReuseIdentifiable, NewModel: Sendable, Models: AsyncSequence & Sendable>(
        cellType: NewCell.Type, models: Models
    ) -> BindingChain<Section, NewCell, NewModel> where Models.Element == [Section: [NewModel]] {
        bind(cellType: cellType, models: bindings.latest(of: models, initially: [:]))
    }
}

extension BindingChain {
    /// The sequence's latest header title, none before the first.
    @discardableResult
    public func bind<Titles: AsyncSequence & Sendable>(headerTitle titles: Titles) -> Self
    where Titles.Element == String? {
        let title = bindings.latest(of: titles, initially: nil)
        return bind(headerTitle: { _ in title() })
    }

    /// The sequence's latest footer title, none before the first.
    @discardableResult
    public func bind<Titles: AsyncSequence & Sendable>(footerTitle titles: Titles) -> Self
    where Titles.Element == String? {
        let title = bindings.latest(of: titles, initially: nil)
        return bind(footerTitle: { _ in title() })
    }
}
