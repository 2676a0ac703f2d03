/// What a row is made of. What is not applicable is nil, and absent in the JSON.
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

extension Row {
    convenience init(parts: RowParts) {
        var writer = JSONWriter(capacity: 96 + (parts.id?.text.utf8.count ?? 0) + parts.cell.utf8.count + (parts.model?.count ?? 0) + (parts.viewModel?.count ?? 0))
        writer.beginObject()
        if let id = parts.id {
            writer.name("id")
            writer.value(id.text)
        }
        writer.name("cell")
        writer.value(parts.cell)
        if let model = parts.model {
            writer.name("model")
            writer.value(model)
        }
        if let viewModel = parts.viewModel {
            writer.name("viewModel")
            writer.value(viewModel)
        }
        let contentLength = writer.bytes.count
        if let editing = parts.editing {
            writer.name("editing")
            writer.value(editing)
        }
        if parts.movable {
            writer.name("movable")
            writer.value(true)
        }
        if let height = parts.height {
            writer.name("height")
            writer.value(height)
        }
        if let estimatedHeight = parts.estimatedHeight {
            writer.name("estimatedHeight")
            writer.value(estimatedHeight)
        }
        writer.endObject()
        self.init(id: parts.id, json: writer.text, contentLength: contentLength, updatesManually: parts.updatesManually)
    }

    /// The model, if the row stands for one.
    public var model: JSONText? { json["model"] }
}
