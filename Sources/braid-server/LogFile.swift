import Glibc

/// The log file of `--log-file`, to which the process appends everything that it would write to stderr.
struct LogFile {
    let path: String

    /// Opens or creates the log file, and makes it the process's stderr. The file then receives everything that the
    /// process writes to stderr: log lines, and the message of a process that crashes. If a program such as logrotate
    /// has renamed the old file, this method creates a new one.
    ///
    /// - Throws: a `Failure` if the file cannot be opened. In this case, the process's stderr does not change.
    func open() throws {
        let file = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw Failure("The log file \(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        dup2(file, STDERR_FILENO)
        close(file)
    }
}
