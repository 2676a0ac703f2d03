import Glibc

/// The file that the process appends to instead of stderr (`--log-file`).
struct LogFile {
    let path: String

    /// Opens the file, or creates it, and makes it the process's stderr. Everything that is written to stderr goes to the
    /// file: log lines, and the last words of a process that fails. After a program such as logrotate has renamed the
    /// file, this method opens a new one.
    ///
    /// - Throws: a `Failure` if the file cannot be opened. Then stderr stays as it is.
    func open() throws {
        let file = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw Failure("The log file \(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        dup2(file, STDERR_FILENO)
        close(file)
    }
}
