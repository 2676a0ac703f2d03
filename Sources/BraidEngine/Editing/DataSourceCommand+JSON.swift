// `{"dataSource": {call: arguments}}`, with arguments from a request's path, query and body: see `Call.resource` and
// `Call.wholeBody`.
extension DataSourceCommand {
    /// Raw values are the names in JSON.
    public enum Call: String, CaseIterable, Sendable {
        /// DataSourceController's row manager.
        case addRow, updateRow, updateRowsOfSection, updateRows, removeRow
        /// DataSourceController's section manager.
        case addSection, updateSectionData, updateSection, updateAllSections, removeSection, removeAllSections
        /// Calls that name rows by id.
        case insertRow, putRow, putRows, patchRow, deleteRow
        /// A model type's cell.
        case registerCell

        /// The path is below the session's. Its variables are arguments: `{section}/{row}` is `at`; a single
        /// `{section}` is `section`, or else `at`.
        public var resource: (method: CommandKind.Method, path: String) {
            switch self {
            case .addRow: (.post, "rows")
            case .updateRow: (.put, "rows/{section}/{row}")
            case .updateRowsOfSection: (.put, "sections/{section}/rows")
            case .updateRows: (.patch, "rows")
            case .removeRow: (.delete, "rows/{section}/{row}")
            case .addSection: (.post, "sections")
            case .updateSectionData: (.put, "sections/{section}/data")
            case .updateSection: (.put, "sections/{section}")
            case .updateAllSections: (.put, "sections")
            case .removeSection: (.delete, "sections/{section}")
            case .removeAllSections: (.delete, "sections")
            case .insertRow: (.post, "sections/{section}/rows")
            case .putRow: (.put, "sections/{section}/rows/{rowId}")
            case .putRows: (.put, "rows")
            case .patchRow: (.patch, "sections/{section}/rows/{rowId}")
            case .deleteRow: (.delete, "sections/{section}/rows/{rowId}")
            case .registerCell: (.put, "cells-for-model-types/{modelType}")
            }
        }

        /// The argument that a single `{section}` in the path is.
        public var sectionArgument: String { self != .addSection && members.contains("section") ? "section" : "at" }

        /// The body may be lines, each an element of `models`.
        public var acceptsLines: Bool { self == .insertRow }

        /// The argument that is the body. `nil` for an object of arguments.
        public var wholeBody: String? {
            switch self {
            case .putRow: "model"
            case .patchRow: "patch"
            default: nil
            }
        }

        /// With `notify` false, the change stays unpublished.
        public var acceptsNotify: Bool { members.contains("notify") }

        fileprivate var members: [String] {
            switch self {
            case .addRow, .updateRow: ["at", "model", "notify"]
            case .updateRowsOfSection: ["at", "rows", "notify"]
            case .updateRows: ["rows", "notify"]
            case .removeRow, .removeSection: ["at", "notify"]
            case .addSection: ["section", "at", "notify"]
            case .updateSectionData: ["at", "header", "footer", "notify"]
            case .updateSection: ["at", "header", "footer", "rows", "notify"]
            case .updateAllSections: ["sections", "notify"]
            case .removeAllSections: ["notify"]
            case .insertRow: ["section", "at", "model", "models", "notify"]
            case .putRow: ["section", "rowId", "model", "notify"]
            case .putRows: ["section", "models", "at", "move", "notify"]
            case .patchRow: ["section", "rowId", "patch", "notify"]
            case .deleteRow: ["section", "rowId", "notify"]
            case .registerCell: ["modelType", "cell"]
            }
        }
    }
}

extension Command {
    /// Arguments are those of a request to ``DataSourceCommand/Call/resource``; every call except `registerCell`
    /// accepts `notify`, by default true. Throws `badRequest`; faults' pointers begin with `pointer`.
    public init(
        dataSource call: DataSourceCommand.Call, arguments: JSONText, at pointer: JSONPointer = .root
    ) throws(Refusal) {
        let object = try BodyReader(arguments, at: pointer, members: call.members)
        self = .dataSource(try DataSourceCommand(call, object, at: pointer), notify: try object.flag("notify") ?? true)
    }

    /// From `{call: arguments}`.
    init(dataSource json: JSONText, at pointer: JSONPointer) throws(Refusal) {
        let names = DataSourceCommand.Call.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")
        guard let members = json.members(), members.count == 1 else {
            throw Refusal.bad(
                pointer, .rejecting(json.kind, accepting: .object),
                "a call to the data source is an object with one member: \(names)")
        }
        guard let call = DataSourceCommand.Call(rawValue: members[0].name) else {
            throw Refusal.bad(
                pointer.appending(members[0].name), .unknownName,
                "there is no call \"\(members[0].name)\" to the data source; calls are \(names)")
        }
        try self.init(dataSource: call, arguments: members[0].value, at: pointer.appending(members[0].name))
    }
}

extension RowPlacement {
    fileprivate init(_ json: JSONText, at pointer: JSONPointer) throws(Refusal) {
        switch json.kind {
        case .number: self = .index(try json.index(at: pointer))
        case .object:
            let object = try BodyReader(json, at: pointer, members: ["before", "after"])
            switch (object["before"], object["after"]) {
            case (_?, nil): self = .before(try object.rowID("before"))
            case (nil, _?): self = .after(try object.rowID("after"))
            default:
                throw Refusal.bad(
                    pointer, object["before"] == nil ? .missingMember : .conflict,
                    "must have either `before` or `after`")
            }
        default:
            switch json.stringValue {
            case "start"?: self = .start
            case "end"?: self = .end
            case let text:
                throw Refusal.bad(
                    pointer, text == nil ? .wrongType : .invalidValue,
                    "must be \"start\", \"end\", {\"before\": id}, {\"after\": id} or an index from 0")
            }
        }
    }
}

extension DataSourceCommand {
    fileprivate init(_ call: Call, _ object: BodyReader, at pointer: JSONPointer) throws(Refusal) {
        switch call {
        case .addRow: self = .addRow(try object.required("model"), at: try object.rowReference("at"))
        case .updateRow: self = .updateRow(try object.required("model"), at: try object.rowReference("at"))
        case .updateRowsOfSection:
            self = .updateRowsOfSection(try object.array("rows"), at: try object.sectionReference("at"))
        case .updateRows: self = .updateRows(try Self.rows(object, at: pointer.appending("rows")))
        case .removeRow: self = .removeRow(at: try object.rowReference("at"))
        case .addSection:
            let isAtEnd = object["at"]?.isNull ?? true
            self = .addSection(
                try SectionContent(try object.required("section"), at: pointer.appending("section")),
                at: isAtEnd ? nil : try object.index("at"))
        case .updateSectionData:
            self = .updateSectionData(
                header: try object.title("header"), footer: try object.title("footer"),
                at: try object.sectionReference("at"))
        case .updateSection:
            self = .updateSection(
                SectionContent(
                    header: try object.title("header"), footer: try object.title("footer"),
                    rows: try object.array("rows")),
                at: try object.sectionReference("at"))
        case .updateAllSections:
            self = .updateAllSections(
                try SectionContent.list(object.required("sections"), at: object.place(of: "sections")))
        case .removeSection: self = .removeSection(at: try object.sectionReference("at"))
        case .removeAllSections: self = .removeAllSections
        case .insertRow:
            let section = try object.sectionReference("section"), place = try object.placement("at")
            switch (object["model"], object["models"]) {
            case (let model?, nil): self = .insertRow(model, at: place, in: section)
            case (nil, _?): self = .insertRows(try object.array("models"), at: place, in: section)
            case (nil, nil): throw Refusal.bad(pointer, .missingMember, "must have `model` or `models`")
            default: throw object.fault("models", .conflict, "must have either `model` or `models`")
            }
        case .putRow:
            self = .putRow(
                try object.required("model"), id: try object.rowID("rowId"), in: try object.sectionReference("section"))
        case .putRows:
            self = .putRows(
                try object.array("models"), at: try object.placement("at"),
                in: try object.sectionReference("section"), moves: try object.flag("move") ?? false)
        case .patchRow:
            self = .patchRow(
                try object.required("patch"), id: try object.rowID("rowId"), in: try object.sectionReference("section"))
        case .deleteRow:
            self = .deleteRow(id: try object.rowID("rowId"), in: try object.sectionReference("section"))
        case .registerCell: self = .registerCell(try object.string("cell"), modelType: try object.string("modelType"))
        }
    }

    private static func rows(_ object: BodyReader, at pointer: JSONPointer) throws(Refusal) -> [(
        at: RowReference, model: JSONText
    )] {
        var rows: [(at: RowReference, model: JSONText)] = []
        var seen: Set<RowReference> = []
        for (index, element) in try object.array("rows").enumerated() {
            let place = pointer.appending(index)
            let row = try BodyReader(element, at: place, members: ["at", "model"])
            let reference = try row.rowReference("at")
            guard seen.insert(reference).inserted else {
                throw Refusal.bad(place.appending("at"), .duplicate, "another element of `rows` names this row already")
            }
            rows.append((reference, try row.required("model")))
        }
        return rows
    }
}

extension SectionContent {
    /// `{"id"?, "header"?, "footer"?, "rows"}`. Throws `badRequest`.
    public init(_ json: JSONText, at pointer: JSONPointer) throws(Refusal) {
        let object = try BodyReader(json, at: pointer, members: ["id", "header", "footer", "rows"])
        id = try object["id"] == nil ? nil : SectionID(object.string("id"))
        header = try object.title("header")
        footer = try object.title("footer")
        rows = try object.array("rows")
    }

    /// From an array. Throws `badRequest`.
    public static func list(_ json: JSONText, at pointer: JSONPointer) throws(Refusal) -> [SectionContent] {
        try json.array(of: "sections", at: pointer) { (element, place) throws(Refusal) in
            try SectionContent(element, at: place)
        }
    }
}

extension BodyReader {
    func array(_ name: String) throws(Refusal) -> [JSONText] {
        guard let elements = try required(name).elements() else { throw fault(name, .wrongType, "must be an array") }
        return elements
    }

    func string(_ name: String) throws(Refusal) -> String {
        guard let string = try required(name).stringValue else { throw fault(name, .wrongType, "must be a string") }
        return string
    }

    func flag(_ name: String) throws(Refusal) -> Bool? {
        guard let value = self[name] else { return nil }
        guard let flag = value.boolValue else { throw fault(name, .wrongType, "must be true or false") }
        return flag
    }

    fileprivate func placement(_ name: String) throws(Refusal) -> RowPlacement {
        try self[name].map { json throws(Refusal) in try RowPlacement(json, at: place(of: name)) } ?? .end
    }

    func rowID(_ name: String) throws(Refusal) -> RowID {
        let value = try required(name)
        guard let id = RowID(json: value) else {
            throw fault(name, .rejecting(value.kind, accepting: .number), "a row's id must be a string, or an integer")
        }
        return id
    }

    func title(_ name: String) throws(Refusal) -> JSONText? {
        guard let title = self[name] else { return nil }
        return try BodyReader.title(title, at: place(of: name))
    }
}
