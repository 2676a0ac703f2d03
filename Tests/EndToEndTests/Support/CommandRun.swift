import Foundation

/// A completed run of the server's binary with a command, with the output and the exit status of the run.
struct CommandRun: Equatable {
    var status: Int32
    var output: String
    var errors: String

    init(status: Int32, output: String, errors: String) {
        self.status = status
        self.output = output
        self.errors = errors
    }

    /// Runs the binary in `directory`, with the environment that `ServerProcess.environment(adding:)` makes. A command
    /// that has not ended after two minutes receives SIGTERM, and the status of the run is 124.
    init(_ arguments: [String], environment: [String: String] = [:], directory: String? = nil) throws {
        let process = Process(), output = Pipe(), errors = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        process.arguments = ["120", ServerProcess.binary.path] + arguments
        process.environment = ServerProcess.environment(adding: environment)
        if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        self.output = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        self.errors = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        status = process.terminationStatus
    }
}
