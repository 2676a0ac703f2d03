import Synchronization

// Braid's Rx, with Swift's own means: sequences in, a stream of updates out.

/// What a sequence gave last.
final class Latest<Element: Sendable>: Sendable {
    private let element: Mutex<Element>

    init(_ first: Element) { element = Mutex(first) }

    var value: Element { element.withLock { $0 } }

    func set(_ new: Element) { element.withLock { $0 = new } }
}

/// Who listens to a binder's updates.
final class Subscribers: Sendable {
    private let continuations = Mutex<(next: Int, all: [Int: AsyncStream<BatchUpdate>.Continuation])>((0, [:]))

    func stream() -> AsyncStream<BatchUpdate> {
        let (stream, continuation) = AsyncStream.makeStream(of: BatchUpdate.self)
        let number = continuations.withLock { continuations in
            defer { continuations.next += 1 }
            continuations.all[continuations.next] = continuation
            return continuations.next
        }
        continuation.onTermination = { [weak self] _ in self?.continuations.withLock { _ = $0.all.removeValue(forKey: number) } }
        return stream
    }

    func send(_ update: BatchUpdate) {
        for continuation in continuations.withLock({ Array($0.all.values) }) { continuation.yield(update) }
    }

    func finish() {
        for continuation in continuations.withLock({ Array($0.all.values) }) { continuation.finish() }
    }
}

extension TableBindings {
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

// Sequences in the place of closures. What is not here takes the closure of `latest(of:initially:)`.
extension BindingChain where Model == Never {
    /// The models of the chain's only section, as the sequence gives them; none until it has given some.
    @discardableResult
    public func bind<NewCell: ReuseIdentifiable, NewModel: Sendable, Models: AsyncSequence & Sendable>(
        cellType: NewCell.Type, models: Models
    ) -> BindingChain<Section, NewCell, NewModel> where Models.Element == [NewModel] {
        bind(cellType: cellType, models: bindings.latest(of: models, initially: []))
    }

    /// The models by section, as the sequence gives them.
    @discardableResult
    public func bind<NewCell: ReuseIdentifiable, NewModel: Sendable, Models: AsyncSequence & Sendable>(
        cellType: NewCell.Type, models: Models
    ) -> BindingChain<Section, NewCell, NewModel> where Models.Element == [Section: [NewModel]] {
        bind(cellType: cellType, models: bindings.latest(of: models, initially: [:]))
    }
}

extension BindingChain {
    /// The title of the chain's sections, as the sequence gives it; none until it has given one.
    @discardableResult
    public func bind<Titles: AsyncSequence & Sendable>(headerTitle titles: Titles) -> Self where Titles.Element == String? {
        let title = bindings.latest(of: titles, initially: nil)
        return bind(headerTitle: { _ in title() })
    }

    @discardableResult
    public func bind<Titles: AsyncSequence & Sendable>(footerTitle titles: Titles) -> Self where Titles.Element == String? {
        let title = bindings.latest(of: titles, initially: nil)
        return bind(footerTitle: { _ in title() })
    }
}
