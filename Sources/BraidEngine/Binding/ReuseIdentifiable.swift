/// A Swift type of cell, header or footer. Its values contain what the cell, header or footer shows.
public protocol ReuseIdentifiable: Sendable {
    /// The name of this cell, header or footer type in snapshots. The default is the type's Swift name.
    static var reuseIdentifier: String { get }
    /// Creates an empty cell, header or footer, to be filled afterwards.
    init()
}

extension ReuseIdentifiable {
    /// The default reuse identifier: the Swift name of the type.
    public static var reuseIdentifier: String { String(describing: Self.self) }
}

/// A cell, header or footer that receives everything it shows at once, as a view model.
public protocol ViewModelBindable: ReuseIdentifiable {
    /// The type of this cell's, header's or footer's view model.
    associatedtype ViewModel: Sendable
    /// The view model that is shown. `nil` until the view model is set.
    var viewModel: ViewModel? { get set }
}

/// A cell that emits events, which `onEvent(from:)` handlers receive.
public protocol ViewEventEmitting: ReuseIdentifiable {
    /// The type of the cell's events.
    associatedtype ViewEvent: Sendable
}
