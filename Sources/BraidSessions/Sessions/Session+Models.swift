import BraidEngine
import BraidRuntime

/// Where a page of models ends: `<epoch>.<revision>.<section>.<ordinal>.<key>.<rank>`.
package struct ModelCursor: Sendable, CustomStringConvertible {
    let position: Position
    let place: ModelPage.Place

    init(_ position: Position, _ place: ModelPage.Place) { (self.position, self.place) = (position, place) }

    /// Throws `badRequest`.
    package init(_ text: String) throws(SessionError) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.dropFirst().compactMap { Int($0) }
        guard parts.count == 6, numbers.count == 5 else {
            throw SessionError(.badRequest, "`after` must be the `next` of a page of models, not \"\(text)\".")
        }
        self.init(
            Position(epoch: String(parts[0]), revision: numbers[0]),
            ModelPage.Place(section: numbers[1], ordinal: numbers[2], key: numbers[3], rank: numbers[4]))
    }

    package var description: String {
        "\(position).\(place.section).\(place.ordinal).\(place.key).\(place.rank)"
    }
}

extension Session {
    /// Stored models, displayed or not; one that fills `Memory.largeBytes` is the last. Throws `sectionNotFound`, or
    /// `revisionNotAvailable` if it is unknown what comes after the cursor.
    package func models(
        of section: SectionID?, after cursor: ModelCursor?, limit: Int
    ) throws -> (revision: Int, page: ModelPage, next: ModelCursor?) {
        if let cursor { try checkEpoch(of: cursor.position) }
        let current = current, revision = current.snapshot.revision
        guard
            let page = try current.model.modelPage(
                of: section, after: cursor?.place,
                keepsOrder: cursor.map { $0.position.revision >= current.placesSince } ?? true, limit: limit,
                bytes: Memory.largeBytes)
        else {
            throw SessionError(
                .revisionNotAvailable,
                "The page's last row was moved or removed, and others may have new places. Start again, without `after`."
            )
        }
        return (revision, page, page.next.map { ModelCursor(position(at: revision), $0) })
    }
}
