import BraidEngine

/// A window as requested: the anchor's section may be missing.
package struct WindowQuery: Sendable {
    /// `nil`: across all displayed sections.
    package var section: SectionID?
    package var run: Run

    package enum Run: Sendable {
        /// A negative offset counts from the end.
        case rows(offset: Int, limit: Int)
        /// At most `before` and `after` rows around the anchor.
        case around(RowID, section: SectionID?, before: Int, after: Int)
    }

    package init(section: SectionID?, _ run: Run) {
        self.section = section
        self.run = run
    }
}

extension WindowQuery {
    /// Throws `sectionNotFound`, `rowNotFound` or `ambiguousRow`.
    func cut(from table: SessionTable) throws(Refusal) -> WindowedSnapshot {
        if let section, table.bound.hidesRows {
            // A hidden one is as one that never was.
            guard table.snapshot.sections.contains(where: { $0.id == section }) else {
                throw Refusal(.sectionNotFound, "The table displays no such section. Get the snapshot.")
            }
        } else if let section, table.model[section] == nil {
            throw .noSection(section, among: table.model.sections.lazy.map(\.id))
        }
        let source = table.windows
        switch run {
        case .rows(let offset, let limit): return source.cut(section: section, offset: offset, limit: limit)
        case .around(let id, let named, let before, let after):
            let place: SectionID
            if let known = named ?? section { place = known } else { place = try Self.section(of: id, in: source) }
            let anchor = TableWindow.Anchor(section: place, id: id)
            guard let window = source.cut(section: section, around: anchor, before: before, after: after) else {
                throw .noRow(id, in: anchor.section)
            }
            return window
        }
    }

    private static func section(of id: RowID, in source: WindowSource) throws(Refusal) -> SectionID {
        let sections = source.sections(with: id)
        guard let first = sections.first else {
            throw Refusal(.rowNotFound, "No displayed section has a row with the id \"\(id)\".")
        }
        guard sections.count == 1 else {
            throw Refusal(
                .ambiguousRow,
                "Several displayed sections have a row with the id \"\(id)\": name the section in `aroundSection`.")
        }
        return first
    }

    /// In rows: shown, and examined to find the anchor.
    func estimatedCost(in table: SessionTable) -> Int {
        let most =
            switch run {
            case .rows(_, let limit): limit
            case .around(_, _, let before, let after): before + 1 + after
            }
        return min(most, table.snapshot.totalRowCount) + examinedRows(in: table)
    }

    /// To find the anchor.
    func examinedRows(in table: SessionTable) -> Int {
        guard case .around(let id, let named, _, _) = run else { return 0 }
        return table.windows.examinedRows(for: id, in: named ?? section)
    }
}
