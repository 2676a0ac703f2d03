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

extension RowParts {
    /// The order of the members is fixed: equal rows have equal bytes, the id is first, and what cells do not show is
    /// last (see `RowContent`). Returns where the content ends, and the model's place.
    @discardableResult
    func write(to writer: inout JSONWriter) -> (contentEnd: Int, model: Range<Int>) {
        writer.beginObject()
        if let id {
            writer.name("id")
            writer.value(id.text)
        }
        writer.name("cell")
        writer.value(cell)
        var modelRange = 0..<0
        if let model {
            writer.name("model")
            modelRange = writer.bytes.count..<writer.bytes.count + model.count
            writer.value(model)
        }
        if let viewModel {
            writer.name("viewModel")
            writer.value(viewModel)
        }
        let contentEnd = writer.bytes.count
        if let editing {
            writer.name("editing")
            writer.value(editing)
        }
        if movable {
            writer.name("movable")
            writer.value(true)
        }
        if let height {
            writer.name("height")
            writer.value(height)
        }
        if let estimatedHeight {
            writer.name("estimatedHeight")
            writer.value(estimatedHeight)
        }
        writer.endObject()
        return (contentEnd, modelRange)
    }
}

extension Row {
    /// With its JSON, in one allocation if id and cell need no escapes.
    init(parts: RowParts) {
        let size = parts.encodedSize
        var writer = JSONWriter(capacity: size + RowContent.room(behind: size))
        let (contentLength, model) = parts.write(to: &writer)
        self.init(
            id: parts.id, content: RowContent(&writer, contentLength: contentLength, model: model),
            updatesManually: parts.updatesManually)
    }
}
