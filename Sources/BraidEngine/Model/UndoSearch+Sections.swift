extension UndoSearch {
    mutating func takeBackSections() {
        for number in Set(own.writtenSections.map(\.number) + own.removedSections).sorted() {
            let old = old.sections[number], then = then.sections[number], now = section(numbered: number)?.summary
            switch (old, then) {
            case (nil, let then?):
                let isChanged =
                    later.sections.contains(number)
                    || [true, false].contains { later.titles.contains(.init(section: number, isHeader: $0)) }
                if isChanged {
                    conflict(JSONPointer(tokens: ["sections", then.id.text]))
                } else if now != nil {
                    change.removedSections.append(then.id)
                }
            case (let old?, nil):
                if later.sections.contains(number) || now != nil {
                    conflict(JSONPointer(tokens: ["sections", old.id.text]))
                } else {
                    change.sections.append(old)
                }
            case (let old?, let then?):
                if let now { takeBackTitles(old, then, now) } else { conflict(inSection: number) }
            case (nil, nil): break
            }
        }
        let removed = Set(change.removedSections)
        for section in change.sections where now.position(of: section.id) != nil && !removed.contains(section.id) {
            conflict(JSONPointer(tokens: ["sections", section.id.text]))
        }
        arrangeSections()
    }

    private mutating func takeBackTitles(
        _ old: StoredSectionSummary, _ then: StoredSectionSummary, _ now: StoredSectionSummary
    ) {
        func takeBack(_ title: JSONText?, _ isHeader: Bool) -> Bool {
            guard !later.titles.contains(.init(section: now.number, isHeader: isHeader)) else {
                conflict(JSONPointer(tokens: ["sections", now.id.text, isHeader ? "header" : "footer"]))
                return false
            }
            return true
        }
        if old.header != then.header, takeBack(old.header, true) { change.headers.append((now.id, old.header)) }
        if old.footer != then.footer, takeBack(old.footer, false) { change.footers.append((now.id, old.footer)) }
        // Not displayed, so nobody needs to know of a conflict.
        if old.prefetched != then.prefetched, now.prefetched == then.prefetched {
            change.prefetched.append((now.id, old.prefetched))
        }
    }

    /// Sections that come back go after the nearest old one above.
    private mutating func arrangeSections() {
        let isReordered = PastTable.isReordered(old.sections, then.sections)
        if isReordered, later.hasNewOrder { return conflict(JSONPointer(tokens: ["sections"])) }
        guard isReordered || !change.sections.isEmpty else { return }
        let removed = Set(change.removedSections)
        let current = now.sections.map(\.summary.number)
        let old = old.sections.values.sorted { $0.ordinal < $1.ordinal }.map(\.number)
        var order = isReordered ? old.filter { positions[$0] != nil } : current
        func add(_ numbers: Set<Int>, as list: [Int]) {
            for (index, number) in list.enumerated() where numbers.contains(number) && !order.contains(number) {
                let above = list[..<index].last { order.contains($0) }
                order.insert(number, at: above.flatMap { order.firstIndex(of: $0) }.map { $0 + 1 } ?? 0)
            }
        }
        add(Set(current), as: current)
        add(Set(change.sections.map(\.number)), as: old)
        change.order = order.compactMap { sectionID($0) }.filter { !removed.contains($0) }
    }

    mutating func takeBackRest() {
        if own.state != nil { change.state = takeBack(old.state, then.state, now.state, later.state, "state") }
        if own.cells != nil { change.cells = takeBack(old.cells, then.cells, now.cells.json, later.cells, "cells") }
        if let displayed = own.displayedSections {
            if later.hasNewDisplay {
                conflict(JSONPointer(tokens: ["displayedSections"]))
            } else {
                change.displayedSections = displayed
            }
        }
    }

    /// Member by member. `nil`: unchanged.
    private mutating func takeBack(
        _ old: JSONText, _ then: JSONText, _ now: JSONText, _ changed: Set<UTF8Key>, _ what: String
    ) -> JSONText? {
        let values = old.valuesByName, differing = values.differing(from: then.valuesByName)
        for name in differing.intersection(changed).map(\.string).sorted() {
            conflict(JSONPointer(tokens: [what, name]))
        }
        guard differing.isDisjoint(with: changed), !differing.isEmpty else { return nil }
        let members = now.members() ?? [], present = Set(members.map { UTF8Key($0.name) })
        var arriving: [Tombstones<UTF8Key>.Place: [(order: Int, name: UTF8Key)]] = [:]
        for (order, member) in (old.members() ?? []).enumerated() {
            let name = UTF8Key(member.name)
            guard differing.contains(name), !present.contains(name) else { continue }
            // Cells have no places: they are sorted when they are read.
            let (below, order, _) = memberPlaces[name] ?? (.end(ofList: 0), order, true)
            arriving[below, default: []].append((order, name))
        }
        var result: [(name: String, value: JSONText)] = []
        func append(_ name: UTF8Key) { if let value = values[name] { result.append((name.string, value)) } }
        func arrive(_ place: Tombstones<UTF8Key>.Place) {
            for (_, name) in (arriving[place] ?? []).sorted(by: { $0.order < $1.order }) { append(name) }
        }
        for member in members {
            let name = UTF8Key(member.name)
            arrive(.above(name))
            if differing.contains(name) { append(name) } else { result.append(member) }
        }
        arrive(.end(ofList: 0))
        return JSONText(object: result).detached
    }
}
