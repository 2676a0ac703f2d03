/// `nil` and false are absent in the JSON.
struct RowParts {
    var id: RowID?
    var cell: String
    var model: JSONText?
    var viewModel: JSONText?
    /// `delete` or `insert`.
    var editing: String?
    var movable = false
    var height: JSONText?
    var estimatedHeight: JSONText?
    var updatesManually = false
}

extension RowParts {
    fileprivate var encodedSize: Int {
        var size = #"{"cell":""}"#.utf8.count + cell.utf8.count
        if let id { size += #""id":"","#.utf8.count + id.text.utf8.count }
        if let model { size += #","model":"#.utf8.count + model.count }
        if let viewModel { size += #","viewModel":"#.utf8.count + viewModel.count }
        if let editing { size += #","editing":"""#.utf8.count + editing.utf8.count }
        if movable { size += #","movable":true"#.utf8.count }
        if let height { size += #","height":"#.utf8.count + height.count }
        if let estimatedHeight { size += #","estimatedHeight":"#.utf8.count + estimatedHeight.count }
        return size
    }
}

extension Row {
    /// Encodes the row's object, in one allocation if id and cell need no escapes. The order of the members is fixed:
    /// equal rows have equal bytes, the id is first, and what cells do not show is last (see `RowContent`).
    init(parts: RowParts) {
        let size = parts.encodedSize
        var writer = JSONWriter(capacity: size + RowContent.room(behind: size))
        if let id = parts.id {
            writer.raw("{\"id\":")
            writer.value(id.text)
            writer.raw(",\"cell\":")
        } else {
            writer.raw("{\"cell\":")
        }
        writer.value(parts.cell)
        var modelRange = 0..<0
        if let model = parts.model {
            writer.raw(",\"model\":")
            modelRange = writer.bytes.count..<writer.bytes.count + model.count
            writer.value(model)
        }
        if let viewModel = parts.viewModel {
            writer.raw(",\"viewModel\":")
            writer.value(viewModel)
        }
        let contentLength = writer.bytes.count
        if let editing = parts.editing {
            writer.raw(",\"editing\":")
            writer.value(editing)
        }
        if parts.movable { writer.raw(",\"movable\":true") }
        if let height = parts.height {
            writer.raw(",\"height\":")
            writer.value(height)
        }
        if let estimatedHeight = parts.estimatedHeight {
            writer.raw(",\"estimatedHeight\":")
            writer.value(estimatedHeight)
        }
        writer.raw("}")
        self.init(
            id: parts.id, content: RowContent(&writer, contentLength: contentLength, model: modelRange),
            updatesManually: parts.updatesManually)
    }
}
