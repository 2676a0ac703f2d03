/// A type of cell, header or footer: a value that contains what is shown.
public protocol ReuseIdentifiable: Sendable {
    /// The name of the type in snapshots. The default is its Swift name.
    static var reuseIdentifier: String { get }
    /// Creates an empty cell, header or footer, which is filled afterwards.
    init()
}

extension ReuseIdentifiable {
    /// The Swift name of the type.
    public static var reuseIdentifier: String { String(describing: Self.self) }
}

/// A cell, header or footer that receives everything it shows at once, as a view model.
public protocol ViewModelBindable: ReuseIdentifiable {
    /// The type of the view model.
    associatedtype ViewModel: Sendable
    /// The view model. `nil` until it is set.
    var viewModel: ViewModel? { get set }
}

/// A cell that emits events. The handlers of `onEvent(from:)` receive them.
public protocol ViewEventEmitting: ReuseIdentifiable {
    /// The type of the cell's events.
    associatedtype ViewEvent: Sendable
}
