/// A Swift type of cell, header or footer; its values are what is shown.
public protocol ReuseIdentifiable: Sendable {
    /// The name in snapshots; by default the type's.
    static var reuseIdentifier: String { get }
    /// An empty one, to be filled.
    init()
}

extension ReuseIdentifiable {
    /// The type's name.
    public static var reuseIdentifier: String { String(describing: Self.self) }
}

/// A cell, header or footer that receives all that it shows at once.
public protocol ViewModelBindable: ReuseIdentifiable {
    /// What it shows.
    associatedtype ViewModel: Sendable
    /// `nil` until it is set.
    var viewModel: ViewModel? { get set }
}

/// A cell that emits events, which `onEvent(from:)` handlers receive.
public protocol ViewEventEmitting: ReuseIdentifiable {
    /// All its events.
    associatedtype ViewEvent: Sendable
}
