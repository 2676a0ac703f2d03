import BraidEngine

/// The rules of the faults that a server in test mode injects.
final class Faults: Sendable {
    func reset() {}

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("seed")
        writer.value(0)
        writer.name("faults")
        writer.beginArray()
        writer.endArray()
        writer.endObject()
    }
}
