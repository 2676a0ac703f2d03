import Foundation
import Testing

/// `Examples/library` uses the engine alone, and checks its updates itself.
@Suite struct LibraryExampleTests {
    @Test("The library example prints each table and the moves that lead to the next table")
    func printedMoves() throws {
        let process = Process(), output = Pipe()
        process.executableURL = ServerProcess.binary.deletingLastPathComponent().appendingPathComponent(
            "attendees-example")
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let parts = text.split(separator: "\n\n").map { $0.split(separator: "\n").map { $0.drop { $0 == " " } } }
        #expect(parts.count == 5)
        #expect(
            parts.first == [
                "The party", "-", "[0,0] Christa's Party", "ATTENDING", "[1,0] Jonathan", "[1,1] Omar", "[1,2] Sara",
                "INVITED", "[2,0] Yvonne", "[2,1] Kalinda",
            ])
        #expect(
            parts.map { $0.prefix(2) }.dropFirst() == [
                ["Omar is deleted", "move [1,1] to [2,0]"],
                ["Kalinda is dragged to the top", "move [2,2] to [1,0]"],
                ["Yvonne says that she will come", "move [2,1] to [1,3]"],
                ["Every update led to the table that was displayed after it."],
            ])
        #expect(
            parts.dropLast().last?.dropFirst(2) == [
                "-", "[0,0] Christa's Party", "ATTENDING", "[1,0] Kalinda", "[1,1] Jonathan", "[1,2] Sara",
                "[1,3] Yvonne", "INVITED", "[2,0] Omar",
            ])
    }
}
