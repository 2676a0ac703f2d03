import TestSupport
@testable import BraidEngine

/// Calls with indexes in and out of bounds; none that name a row by id.
enum RandomDataSource {
    static func command(_ random: inout SeededGenerator) -> Command {
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
        func path() -> RowPath { RowPath(section: index(4, &random), row: index(5, &random)) }
        func row() -> RowReference { RowReference(path()) }
        let notify = number(3) > 0
        let call: DataSourceCommand =
            switch number(24) {
            case 0...4: .addRow(model(&random), at: row())
            case 5...7: .updateRow(model(&random), at: row())
            case 8...9: .updateRowsOfSection(models(&random), at: .displayed(index(4, &random)))
            case 10...12:
                .updateRows(
                    (0..<number(4)).reduce(into: [RowPath: JSONText]()) { rows, _ in rows[path()] = model(&random) }
                        .sorted { $0.key < $1.key }.map { (RowReference($0.key), $0.value) })
            case 13...15: .removeRow(at: row())
            case 16...17:
                .addSection(section(&random), at: [nil, index(4, &random)].randomElement(using: &random) ?? nil)
            case 18:
                .updateSectionData(header: title(&random), footer: title(&random), at: .displayed(index(4, &random)))
            case 19: .updateSection(section(&random), at: .displayed(index(4, &random)))
            case 20: .updateAllSections(sections(&random))
            case 21: .removeSection(at: .displayed(index(4, &random)))
            case 22: number(4) == 0 ? .removeAllSections : .removeSection(at: .displayed(index(4, &random)))
            default: .registerCell("C", modelType: ["x", "object", "number"].randomElement(using: &random) ?? "")
            }
        return .dataSource(call, notify: notify)
    }

    /// Below the limit or, rarely, very large.
    static func index(_ limit: Int, _ random: inout SeededGenerator) -> Int {
        Int.random(in: 0..<64, using: &random) == 0
            ? [1 << 31, 1 << 32, .max - 1, .max].randomElement(using: &random) ?? .max
            : Int.random(in: 0..<limit, using: &random)
    }

    /// Some without id, some with a type that can have its own cell.
    static func model(_ random: inout SeededGenerator) -> JSONText {
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
        let type = number(4) == 0 ? #","type":"x""# : ""
        let text =
            number(12) == 0
            ? "\(number(3))" : #"{"id":"\#(["a", "b", "c"][number(3)])\#(number(8))","v":\#(number(10))\#(type)}"#
        return (try? JSONText(parsing: text)) ?? .null
    }

    static func models(_ random: inout SeededGenerator) -> [JSONText] {
        (0..<Int.random(in: 0..<5, using: &random)).map { _ in model(&random) }
    }

    static func sections(_ random: inout SeededGenerator) -> [SectionContent] {
        (0..<Int.random(in: 0..<4, using: &random)).map { _ in section(&random) }
    }

    private static func section(_ random: inout SeededGenerator) -> SectionContent {
        let id: SectionID? = ["s2", "d", nil, nil, nil].randomElement(using: &random) ?? nil
        return SectionContent(id: id, header: title(&random), footer: title(&random), rows: models(&random))
    }

    private static func title(_ random: inout SeededGenerator) -> JSONText? {
        [nil, .null, .string("H\(Int.random(in: 0..<3, using: &random))")].randomElement(using: &random) ?? nil
    }
}

extension RandomTable {
    /// In one of five cases without a description.
    static func make(_ random: inout SeededGenerator) throws -> (binder: Binder, table: TableModel) {
        guard Int.random(in: 0..<5, using: &random) == 0 else {
            let description = try TableDescription(description(&random))
            return (description.binder, try description.openingTable())
        }
        for _ in 0..<50 {
            if let table = try? Binder.dataSource.openingTable(RandomDataSource.sections(&random)) {
                return (.dataSource, table)
            }
        }
        return (.dataSource, TableModel())
    }
}

extension RowReference {
    /// Out of bounds in every table if the reference contains an id.
    var path: RowPath {
        guard case .at(.displayed(let section), let row) = self else { return RowPath(section: .max, row: .max) }
        return RowPath(section: section, row: row)
    }
}
