import Testing
@testable import BraidEngine

/// What `applied(to:)` refuses, for example because a table view would crash.
@Suite struct AppliedTests {
    private func refused(_ table: Snapshot, total: Int? = nil, _ fill: (inout BatchUpdate.Stage) -> Void) -> String? {
        var stage = BatchUpdate.Stage()
        fill(&stage)
        let update = BatchUpdate(from: 0, to: 1, stages: [stage], totalRowCount: total ?? table.totalRowCount)
        do {
            _ = try update.applied(to: table)
            return nil
        } catch {
            return error.description
        }
    }

    private let table = Snapshot.make("A: a b", "B: c")
    private func at(_ section: Int, _ row: Int) -> RowPath { RowPath(section: section, row: row) }

    @Test("An update with an index out of bounds is refused")
    func indexesOutOfBounds() {
        #expect(
            refused(table) { $0.deleteRows = [at(0, 2)] }
                == "stage 0: there is no row [0,2] to be deleted before the stage")
        #expect(
            refused(table) { $0.deleteRows = [at(2, 0)] }
                == "stage 0: there is no row [2,0] to be deleted before the stage")
        #expect(
            refused(table) { $0.deleteSections = [2] }
                == "stage 0: section 2 cannot be deleted: there are 2 sections before the stage")
        #expect(
            refused(table) { $0.insertRows = [.init(at: at(0, 3), row: .make("x"))] }
                == "stage 0: no row can come to [0,3]: the section has 3 rows after the stage")
        #expect(
            refused(table) { $0.insertRows = [.init(at: at(2, 0), row: .make("x"))] }
                == "stage 0: no row can come to [2,0]: there are 2 sections after the stage")
        #expect(
            refused(table) { $0.insertSections = [(3, .make("C:"))] }
                == "stage 0: no section can come to 3: there are 3 sections after the stage")
        #expect(
            refused(table) { $0.moveRows = [.init(from: at(0, 0), to: at(0, 2))] }
                == "stage 0: no row can come to [0,2]: the section has 2 rows after the stage")
        #expect(
            refused(table) { $0.moveSections = [(0, 2)] }
                == "stage 0: no section can come to 2: there are 2 sections after the stage")
    }

    @Test("A stage that names the same row or section twice is refused")
    func namedTwice() {
        #expect(refused(table) { $0.deleteRows = [at(0, 0), at(0, 0)] } != nil)
        #expect(
            refused(table) {
                $0.deleteRows = [at(0, 0)]; $0.updateRows = [.init(at: at(0, 0), row: .make("a1"))]
            } != nil)
        #expect(
            refused(table) {
                $0.moveRows = [.init(from: at(0, 0), to: at(0, 1))];
                $0.updateRows = [.init(at: at(0, 0), row: .make("a1"))]
            } != nil)
        #expect(
            refused(table) {
                $0.insertRows = [.init(at: at(0, 0), row: .make("x")), .init(at: at(0, 0), row: .make("y"))]
            } == "stage 0: two rows come to [0,0]")
        #expect(
            refused(table) {
                $0.deleteSections = [0]; $0.updateSections = [.init(at: 0, header: .null)]
            } == "stage 0: section 0 is both deleted and updated")
        #expect(refused(table) { $0.moveSections = [(0, 1), (1, 1)] } == "stage 0: two sections come to 1")
    }

    @Test("A stage is refused if it changes rows in a section that it inserts, deletes, moves or reloads")
    func rowsInChangedSections() {
        #expect(
            refused(table) {
                $0.deleteSections = [0]; $0.deleteRows = [at(0, 0)]
            } != nil)
        #expect(
            refused(table) {
                $0.reloadSections = [(0, .make("A: a"))]; $0.deleteRows = [at(0, 0)]
            } != nil)
        #expect(
            refused(table) {
                $0.reloadSections = [(0, .make("A: a"))]; $0.insertRows = [.init(at: at(0, 0), row: .make("x"))]
            } != nil)
        #expect(
            refused(table) {
                $0.moveSections = [(0, 1)]; $0.deleteRows = [at(0, 0)]
            } != nil)
        #expect(
            refused(table) {
                $0.moveSections = [(0, 1)]; $0.updateRows = [.init(at: at(0, 0), row: .make("a1"))]
            } != nil)
        #expect(
            refused(table) {
                $0.moveSections = [(0, 1)]; $0.insertRows = [.init(at: at(1, 0), row: .make("x"))]
            } != nil)
        #expect(
            refused(table) {
                $0.insertSections = [(0, .make("C:"))]; $0.insertRows = [.init(at: at(0, 0), row: .make("x"))]
            } != nil)
    }

    @Test("A stage that contains both reloads and moves is refused")
    func reloadsAndMovesApart() {
        let expected = "stage 0: reloads and moves share it"
        #expect(
            refused(table) {
                $0.reloadRows = [.init(at: at(0, 0), row: .make("a1"))]; $0.moveSections = [(1, 1)]
            } == expected)
        #expect(
            refused(table) {
                $0.reloadSections = [(1, .make("B: c"))]; $0.moveRows = [.init(from: at(0, 0), to: at(0, 1))]
            } == expected)
    }

    @Test("An update that changes the id of a row or section is refused")
    func changedIDs() {
        #expect(refused(table) { $0.reloadRows = [.init(at: at(0, 0), row: .make("x"))] } != nil)
        #expect(refused(table) { $0.moveRows = [.init(from: at(0, 0), to: at(0, 1), row: .make("x"))] } != nil)
        #expect(refused(table) { $0.reloadSections = [(0, .make("C: a"))] } != nil)
    }

    @Test("An update with a wrong total row count or an empty stage is refused")
    func countsAndEmptyStages() {
        #expect(refused(table) { _ in } == "stage 0: it has no operations")
        #expect(
            refused(table) { $0.updateSections = [.init(at: 0)] } == "stage 0: the update of section 0 changes nothing")
        #expect(refused(table, total: 3) { $0.deleteRows = [at(0, 0)] } == "`totalRowCount` is 3, but there are 2 rows")
        #expect(throws: InvalidUpdate(detail: "the update leads on from revision 3, the snapshot is of revision 0")) {
            try BatchUpdate(from: 3, to: 4, totalRowCount: 3).applied(to: table)
        }
    }
}
