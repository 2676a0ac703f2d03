import ArgumentParser
import BraidEngine
import BraidStore
import Foundation
import Logging

@main
struct BraidServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "braid-server",
        abstract: "A table is described once, in JSON; every client gets the same snapshots and batch updates.",
        version: "0.1.0",
        subcommands: [Serve.self, Check.self, Replay.self],
        defaultSubcommand: Serve.self)
}

/// Does again what a journal says was done.
struct Replay: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Replay a session's journal, and print the snapshot that it leads to.",
        discussion: "The journal is what GET /v1/sessions/{id}/journal gives with Accept: application/x-ndjson. Exit status 1 when it cannot be replayed.")

    @Argument(help: "The journal, a file of JSON lines.", completion: .file(extensions: ["ndjson"]))
    var journal: String

    func run() throws {
        guard let bytes = FileManager.default.contents(atPath: journal) else { throw Failure("\(journal) cannot be read.") }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).lazy.map { [UInt8]($0) }
        do {
            FileHandle.standardOutput.write(Data(try JournalFile.replay(lines) + [UInt8(ascii: "\n")]))
        } catch {
            throw Failure("\(journal): \(error)")
        }
    }
}

/// Validates descriptions.
struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Validate table descriptions.",
        discussion: "Prints every fault as file:line:column: pointer: message. Exit status 1 when there is one.")

    @Argument(help: "Table descriptions, JSON files.", completion: .file(extensions: ["json"]))
    var files: [String]

    func run() throws {
        var isFaulty = false
        for file in files {
            let faults = DescriptionFile(path: file).faults
            for fault in faults { print(fault) }
            isFaulty = isFaulty || !faults.isEmpty
        }
        if isFaulty { throw ExitCode(1) }
    }
}

/// A table description in a file.
struct DescriptionFile {
    let path: String
    /// Each as `file:line:column: pointer: message`; empty when the description is right.
    private(set) var faults: [String] = []
    private(set) var description: TableDescription?

    init(path: String) {
        self.path = path
        guard let data = FileManager.default.contents(atPath: path) else {
            faults = ["\(path): cannot be read"]
            return
        }
        let bytes = [UInt8](data)
        do {
            description = try TableDescription(JSONText(parsing: bytes))
        } catch let error as JSONError {
            faults = ["\(path):\(error.line):\(error.column): \(error.message)"]
        } catch let refusal as Refusal {
            let locations = JSONLocations(of: bytes)
            faults = refusal.faults.map { fault in
                let place = locations.position(of: fault.pointer)
                return "\(path):\(place.map { "\($0.line):\($0.column): " } ?? "")\(fault.pointer): \(fault.detail)"
            }
        } catch {
            faults = ["\(path): \(error)"]
        }
    }
}
