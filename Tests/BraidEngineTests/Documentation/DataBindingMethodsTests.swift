// Formatted by hand, because pages show its snippets.
// swift-format-ignore-file
import BraidEngine
import Testing

@Suite struct DataBindingMethodsTests {
    // snippet: types
    struct Account: Equatable, CollectionIdentifiable {
        var number: String
        var balance: Int
        var collectionId: String { number }
    }

    struct AccountCell: ViewModelBindable {
        struct ViewModel: Equatable, CollectionIdentifiable {
            var title: String
            var collectionId: String { title }
        }
        var viewModel: ViewModel?
    }

    struct AmountCell: ReuseIdentifiable {
        var amount = 0
    }
    // end

    let accounts = [Account(number: "A1", balance: 20), Account(number: "A2", balance: 700)]

    @Test("A binding with `models` fills its cells from the models in `onDequeue`")
    func models() throws {
        let binder = TableBinder()
        // snippet: models
        binder.onTable()
            .bind(cellType: AmountCell.self, models: { accounts })
            .onDequeue { _, _, cell, account in cell.amount = account.balance }
        // end
        try binder.finish()
        #expect(try (binder.cell(at: 1) as? AmountCell)?.amount == 700)
    }

    @Test("A binding with `viewModels` gives each cell its view model")
    func viewModels() throws {
        let binder = TableBinder()
        // snippet: viewModels
        binder.onTable()
            .bind(cellType: AccountCell.self, viewModels: { [.init(title: "Open an account")] })
        // end
        try binder.finish()
        #expect(try (binder.cell(at: 0) as? AccountCell)?.viewModel?.title == "Open an account")
        #expect(binder.snapshot.sections[0].rows[0].id?.text == "Open an account")
    }

    @Test("A binding with `mapToViewModels` makes a view model from each model")
    func mappedModels() throws {
        let binder = TableBinder()
        // snippet: mapping
        binder.onTable()
            .bind(
                cellType: AccountCell.self,
                models: { accounts },
                mapToViewModels: { AccountCell.ViewModel(title: "\($0.number): \($0.balance)") })
        // end
        try binder.finish()
        #expect(try (binder.cell(at: 1) as? AccountCell)?.viewModel?.title == "A2: 700")
    }

    // snippet: items
    enum Item: Equatable, CollectionIdentifiable {
        case banner(String)
        case amount(Int)

        var collectionId: String {
            switch self {
            case .banner: "banner"
            case .amount: "amount"
            }
        }
    }
    // end

    @Test("A binding with `cellProvider` chooses the cell of each model")
    func providedCells() throws {
        let binder = TableBinder()
        // snippet: provider
        binder.onTable()
            .bind(
                cellProvider: { _, _, item -> any ReuseIdentifiable in
                    switch item {
                    case .banner(let text): AccountCell(viewModel: .init(title: text))
                    case .amount(let amount): AmountCell(amount: amount)
                    }
                },
                models: { [Item.banner("Welcome"), .amount(720)] })
        // end
        try binder.finish()
        #expect(try binder.cell(at: 0) is AccountCell && (binder.cell(at: 1) as? AmountCell)?.amount == 720)
    }

    @Test("A binding with `numberOfCells` shows that number of cells without models")
    func countedCells() throws {
        let binder = TableBinder()
        // snippet: count
        binder.onTable()
            .bind(cellProvider: { _, row in AmountCell(amount: row * 100) }, numberOfCells: { 3 })
        // end
        try binder.finish()
        #expect(try binder.snapshot.totalRowCount == 3 && (binder.cell(at: 2) as? AmountCell)?.amount == 200)
    }

    @Test("One chain can bind the cells of several sections")
    func severalSections() throws {
        // snippet: sections
        enum Section: String, TableSection, CaseIterable { case checking, savings, other }

        let binder = SectionedTableBinder(sectionedBy: Section.self)
        binder.onSection(.checking)
            .bind(cellType: AmountCell.self, models: { accounts })
        binder.onSections(.savings, .other)
            .bind(cellType: AmountCell.self, models: { [.savings: accounts] })
        // end
        try binder.finish()
        #expect(binder.snapshot.sections.map { $0.rows.count } == [2, 2, 0])
    }

    @Test("Headers and footers are titles or views")
    func titlesAndViews() throws {
        enum Section: String, TableSection, CaseIterable { case checking, savings, other }
        var total: Int? = 720
        let binder = SectionedTableBinder(sectionedBy: Section.self)
        // snippet: titles
        struct TotalView: ViewModelBindable {
            struct ViewModel: Equatable { var total: Int }
            var viewModel: ViewModel?
        }

        binder.onAllSections()
            .bind(cellType: AmountCell.self, models: { [.checking: accounts] })
            .bind(headerTitles: [.checking: "CHECKING", .savings: "SAVINGS"])
            .bind(footerType: TotalView.self, viewModel: { section in
                section == .checking ? total.map { TotalView.ViewModel(total: $0) } : nil
            })
        // end
        try binder.finish()
        #expect(binder.snapshot.sections[1].header["title"]?.stringValue == "SAVINGS" && binder.snapshot.sections[2].header.isNull)
        #expect(try (binder.footerView(ofSection: 0) as? TotalView)?.viewModel?.total == 720)
        #expect(try binder.footerView(ofSection: 1) == nil)
        total = nil
        try binder.refresh()
        #expect(try binder.footerView(ofSection: 0) == nil)
    }
}
