import Foundation

/// A process's root directory, as in a container: the binary and its libraries, a volume at /data, the examples at
/// /fixtures.
final class ContainerRoot {
    private let directory: TemporaryDirectory
    private var root: String { directory.path("root") }

    struct Run {
        let process: Process
        let standardOutput: Pipe
        let standardError: URL
        var output = ""

        var status: Int32 { process.terminationStatus }
        var errors: String { (try? String(contentsOf: standardError, encoding: .utf8)) ?? "" }
    }

    /// Whether chroot, and mounts in a namespace of their own, are allowed.
    static let isPossible: Bool = {
        guard geteuid() == 0,
            let run = try? launch(
                "/usr/bin/unshare",
                ["--mount", "--propagation", "private", "/bin/sh", "-c", "mount -t tmpfs none /mnt && chroot / true"])
        else { return false }
        run.waitUntilExit()
        return run.terminationStatus == 0
    }()

    private static func launch(_ path: String, _ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    init() throws {
        directory = try TemporaryDirectory()
        let files = FileManager.default
        for path in ["data", "fixtures", "proc", "usr/local/bin"] {
            try files.createDirectory(atPath: "\(root)/\(path)", withIntermediateDirectories: true)
        }
        try files.createDirectory(atPath: directory.path("volume"), withIntermediateDirectories: true)
        guard chown(directory.path("volume"), 10001, 10001) == 0, chmod(directory.url.path, 0o755) == 0 else {
            throw CocoaError(.fileWriteNoPermission)
        }
        let binary = ServerProcess.binary.resolvingSymlinksInPath().path
        try files.copyItem(atPath: binary, toPath: "\(root)/usr/local/bin/braid-server")
        for library in try Self.libraries(of: binary) {
            let place = "\(root)\(library)"
            try files.createDirectory(
                atPath: (place as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try files.copyItem(atPath: URL(fileURLWithPath: library).resolvingSymlinksInPath().path, toPath: place)
        }
    }

    private static func libraries(of binary: String) throws -> [String] {
        let process = Process(), output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/ldd")
        process.arguments = [binary]
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.split(separator: "\n").compactMap {
            $0.split(separator: " ").first { $0.hasPrefix("/") || $0.hasPrefix("\t/") }
        }
        .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    func volume() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path("volume")).filter {
            !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
        }
    }

    /// Only /data is writable. As a user without a name, with this environment only.
    func start(_ command: [String], as user: String, environment: [String: String]) throws -> Run {
        let examples = ServerProcess.package.appendingPathComponent("Examples").path
        let script = """
            set -e
            root=$1 volume=$2 fixtures=$3 user=$4; shift 4
            mount --bind "$root" "$root"; mount --bind "$volume" "$root/data"; mount --bind "$fixtures" "$root/fixtures"
            mount -t proc proc "$root/proc"  # as in every container
            mount -o remount,bind,ro "$root/fixtures"; mount -o remount,bind,ro "$root"
            exec chroot --userspec="$user:$user" --groups= "$root" /usr/local/bin/"$@"
            """
        let process = Process(), output = Pipe()
        let errors = directory.url.appendingPathComponent("\(UUID().uuidString).log")
        guard FileManager.default.createFile(atPath: errors.path, contents: nil) else {
            throw CocoaError(.fileWriteUnknown)
        }
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments =
            [
                "--mount", "--propagation", "private", "/bin/sh", "-c", script, "sh", root, directory.path("volume"),
                examples, user,
            ] + command
        process.environment = environment
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        return Run(process: process, standardOutput: output, standardError: errors)
    }

    /// Waits for its end.
    func run(_ command: [String], as user: String, environment: [String: String]) throws -> Run {
        var run = try start(command, as: user, environment: environment)
        run.output = String(decoding: run.standardOutput.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        run.process.waitUntilExit()
        return run
    }
}
