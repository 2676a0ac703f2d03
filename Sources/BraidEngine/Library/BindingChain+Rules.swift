// Rules may read anything, so they are called at every refresh and in commands. Rows count from 0 in their section.

extension BindingChain {
    func rule(_ rule: @escaping (Section, Int) throws -> JSONText?) -> Computed<RowInput> {
        let program = Confined((sections: bindings.sections, rule: rule))
        return Computed(reads: .everything) { input, _ in
            try program.value.rule(program.value.sections.section(input.section), input.row)
        }
    }

    func rule(_ rule: @escaping (Section) throws -> JSONText?) -> Computed<SectionInput> {
        let program = Confined((sections: bindings.sections, rule: rule))
        return Computed(reads: .everything) { input, _ in
            try program.value.rule(program.value.sections.section(input.id))
        }
    }

    private func rule(_ rule: @escaping (Section, Int, Model) throws -> JSONText?) -> Computed<RowInput> {
        let program = Confined((bindings: bindings, rule: rule))
        return Computed(reads: .everything) { input, _ in
            let (bindings, rule) = program.value
            return try rule(bindings.sections.section(input.section), input.row, bindings.values.model(input.model))
        }
    }
}

// Titles and views.
extension BindingChain {
    /// Header titles; `nil` for none. A section left out keeps what was bound before.
    @discardableResult
    public func bind(headerTitles: @escaping () throws -> [Section: String?]) -> Self {
        let header = titles(headerTitles, else: binding.header)
        return edit { $0.header = header }
    }

    /// Footer titles; `nil` for none. A section left out keeps what was bound before.
    @discardableResult
    public func bind(footerTitles: @escaping () throws -> [Section: String?]) -> Self {
        let footer = titles(footerTitles, else: binding.footer)
        return edit { $0.footer = footer }
    }

    private func titles(_ provided: @escaping () throws -> [Section: String?], else other: Computed<SectionInput>?)
        -> Computed<SectionInput>
    {
        let titles = ProvidedValues(bindings: bindings, chain: index, provided)
        bindings.providers.append(titles)
        return Computed(reads: .everything) { input, evaluation in
            guard let title = titles[input.id] else { return try other?.value(for: input, evaluation) }
            return title.map { .string($0) }
        }
    }

    /// Each section's header title; `nil` for none.
    @discardableResult
    public func bind(headerTitle: @escaping (Section) throws -> String?) -> Self {
        edit { $0.header = rule { try headerTitle($0).map { .string($0) } } }
    }

    /// Each section's footer title; `nil` for none.
    @discardableResult
    public func bind(footerTitle: @escaping (Section) throws -> String?) -> Self {
        edit { $0.footer = rule { try footerTitle($0).map { .string($0) } } }
    }

    /// A header view; `nil` for none. Wins over titles of this chain and equally specific ones.
    @discardableResult
    public func bind<View: ViewModelBindable>(
        headerType: View.Type, viewModel: @escaping (Section) throws -> View.ViewModel?
    ) -> Self {
        edit { $0.headerView = view(View.self, viewModel) }
    }

    /// A footer view; `nil` for none. Wins over titles of this chain and equally specific ones.
    @discardableResult
    public func bind<View: ViewModelBindable>(
        footerType: View.Type, viewModel: @escaping (Section) throws -> View.ViewModel?
    ) -> Self {
        edit { $0.footerView = view(View.self, viewModel) }
    }

    private func view<View: ViewModelBindable>(_: View.Type, _ viewModel: @escaping (Section) throws -> View.ViewModel?)
        -> Computed<SectionInput>
    {
        let values = bindings.values, areEqual = ModelTraits<View.ViewModel>().areEqual, memory = ViewMemory()
        return rule { section in
            guard let model = try viewModel(section) else { return nil }
            // An `Equatable` view model that did not change keeps its number, and so its header. Numbers of failed
            // commands stand for nothing any more.
            let numbers = memory.numbers[section.sectionID, default: []].filter { values[$0] != nil }
            let number: JSONText
            if let known = numbers.last, let old = values[known] as? TitleView<View>,
                areEqual?(old.viewModel, model) == true
            {
                number = known
            } else {
                for number in numbers { values.retire(number) }
                number = values.add(TitleView<View>(viewModel: model))
                memory.numbers[section.sectionID] = numbers + [number]
            }
            return JSONText(
                .object(JSONObject([("view", .string(View.reuseIdentifier)), ("viewModel", number.value())])))
        }
    }
}

/// A header or footer view. The table has a number for it, so that two of one name and different content differ.
protocol ShownView {
    var view: any ReuseIdentifiable { get }
}

private struct TitleView<View: ViewModelBindable>: ShownView {
    let viewModel: View.ViewModel
    var view: any ReuseIdentifiable { View(viewModel: viewModel) }
}

/// A chain's view models' numbers, in order.
private final class ViewMemory {
    var numbers: [SectionID: [JSONText]] = [:]
}

// Dimensions in points. Sections without a header or footer ignore theirs.
extension BindingChain {
    /// Cell heights, by section and row.
    @discardableResult
    public func cellHeight(_ height: @escaping (Section, Int) throws -> Dimension) -> Self {
        edit { $0.cellHeight = rule { try height($0, $1).json } }
    }

    /// Cell heights, by section, row and model.
    @discardableResult
    public func cellHeight(_ height: @escaping (Section, Int, Model) throws -> Dimension) -> Self {
        edit { $0.cellHeight = rule { try height($0, $1, $2).json } }
    }

    /// Estimated cell heights, by section and row.
    @discardableResult
    public func estimatedCellHeight(_ height: @escaping (Section, Int) throws -> Dimension) -> Self {
        edit { $0.estimatedCellHeight = rule { try height($0, $1).json } }
    }

    /// Estimated cell heights, by section, row and model.
    @discardableResult
    public func estimatedCellHeight(_ height: @escaping (Section, Int, Model) throws -> Dimension) -> Self {
        edit { $0.estimatedCellHeight = rule { try height($0, $1, $2).json } }
    }

    /// Header heights.
    @discardableResult
    public func headerHeight(_ height: @escaping (Section) throws -> Dimension) -> Self {
        edit { $0.headerHeight = rule { try height($0).json } }
    }

    /// Estimated header heights.
    @discardableResult
    public func estimatedHeaderHeight(_ height: @escaping (Section) throws -> Dimension) -> Self {
        edit { $0.estimatedHeaderHeight = rule { try height($0).json } }
    }

    /// Footer heights.
    @discardableResult
    public func footerHeight(_ height: @escaping (Section) throws -> Dimension) -> Self {
        edit { $0.footerHeight = rule { try height($0).json } }
    }

    /// Estimated footer heights.
    @discardableResult
    public func estimatedFooterHeight(_ height: @escaping (Section) throws -> Dimension) -> Self {
        edit { $0.estimatedFooterHeight = rule { try height($0).json } }
    }
}

// Editing and moving.
extension BindingChain {
    /// One editing style for every row.
    @discardableResult
    public func allowEditing(style: EditingStyle = .delete) -> Self {
        edit { $0.editing = Computed(constant: .string(style.rawValue)) }
    }

    /// An editing style, by section and row.
    @discardableResult
    public func allowEditing(styleForRow: @escaping (Section, Int) throws -> EditingStyle) -> Self {
        edit { $0.editing = rule { .string(try styleForRow($0, $1).rawValue) } }
    }

    /// An editing style, by section, row and model.
    @discardableResult
    public func allowEditing(styleForRow: @escaping (Section, Int, Model) throws -> EditingStyle) -> Self {
        edit { $0.editing = rule { .string(try styleForRow($0, $1, $2).rawValue) } }
    }

    /// Lets every row move.
    @discardableResult
    public func allowMoving(_ policy: MovementPolicy<Section>) -> Self {
        edit { ($0.moving, $0.movable) = (movePolicy(policy), nil) }
    }

    /// Lets rows move, by section and row.
    @discardableResult
    public func allowMoving(_ policy: MovementPolicy<Section>, rowIsMovable: @escaping (Section, Int) throws -> Bool)
        -> Self
    {
        edit { ($0.moving, $0.movable) = (movePolicy(policy), rule { .bool(try rowIsMovable($0, $1)) }) }
    }

    /// Lets rows move, by section, row and model.
    @discardableResult
    public func allowMoving(
        _ policy: MovementPolicy<Section>, rowIsMovable: @escaping (Section, Int, Model) throws -> Bool
    ) -> Self {
        edit { ($0.moving, $0.movable) = (movePolicy(policy), rule { .bool(try rowIsMovable($0, $1, $2)) }) }
    }

    private func movePolicy(_ policy: MovementPolicy<Section>) -> MovePolicy {
        switch policy.targets {
        case .anySection: return .anySection
        case .sections(let sections): return .sections(sections.map(\.sectionID))
        case .passing(let passes):
            let program = Confined((sections: bindings.sections, passes: passes))
            return .passing(reads: []) { input, _ in try program.value.passes(program.value.sections.section(input.id))
            }
        }
    }
}

/// To which sections rows may move. Source: Braid's `allowMoving`.
public struct MovementPolicy<Section: TableSection> {
    enum Targets {
        case anySection
        case sections([Section])
        case passing((Section) throws -> Bool)
    }

    let targets: Targets

    /// Those of the same model type, or whose `onInsert` takes no model.
    public static var toAnySection: Self { Self(targets: .anySection) }
    /// These; also within their own only if it is listed.
    public static func toSectionsIn(_ sections: [Section]) -> Self { Self(targets: .sections(sections)) }
    /// Displayed ones for which the closure returns true.
    public static func toSectionsPassing(_ passes: @escaping (Section) throws -> Bool) -> Self {
        Self(targets: .passing(passes))
    }
}
