extension Binder {
    /// The displayed row by its id, so that the reference survives moves; with its section if several display the id.
    /// `pointer` is that of the reference in the request.
    ///
    /// - Throws: `sectionNotFound`, `rowNotFound`, `ambiguousRow`, or `badRequest` for a row without an id.
    package func named(
        _ reference: RowReference, at pointer: JSONPointer, in shown: Snapshot, of table: TableModel
    ) throws(Refusal) -> RowReference {
        let command = CommandInProgress(binder: self, table: table, shown: shown, now: shown.now)
        let place = try command.resolve(reference)
        guard let id = place.section.rows[place.row].id else {
            let rule = "the row has no id, so nobody could find it once it has moved"
            throw Refusal(
                .badRequest, "The row \(place.row) of the section \"\(place.section.id)\" has no id.",
                faults: [.init(pointer: pointer, code: .invalidValue, detail: rule)])
        }
        do throws(Refusal) {
            _ = try command.resolve(.id(id, in: nil))
            return .id(id, in: nil)
        } catch {
            guard error.code == .ambiguousRow else { throw error }
            return .id(id, in: .id(place.section.id))
        }
    }
}
