import Foundation

/// A reference implementation in Python, run by a script in `Tests/Oracles`. `./test` installs its package in
/// `.build/python`; otherwise use `pip install`.
struct PythonOracle {
    let script: String
    /// Imported by the script.
    let module: String

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    var isInstalled: Bool { (try? run(["-c", "import \(module)"])) != nil }

    func lines(_ arguments: [String]) throws -> [Substring] {
        try run([Self.root.appending(path: "Tests/Oracles/\(script)").path()] + arguments).split(separator: "\n")
    }

    private struct Failed: Error {}

    private func run(_ arguments: [String]) throws -> String {
        let own = Self.root.appending(path: ".build/python/bin/python")
        let process = Process(), output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            [FileManager.default.isExecutableFile(atPath: own.path()) ? own.path() : "python3"] + arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed() }
        return String(decoding: data, as: UTF8.self)
    }
}
