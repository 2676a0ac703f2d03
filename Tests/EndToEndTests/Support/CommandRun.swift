import Foundation

struct CommandRun: Equatable {
    var status: Int32
    var output: String
    var errors: String

    init(status: Int32, output: String, errors: String) {
        self.status = status
        self.output = output
        self.errors = errors
    }

    /// After two minutes, SIGTERM and the status 124.
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
