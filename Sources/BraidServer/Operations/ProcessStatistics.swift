import BraidRuntime
import Glibc

/// The operating system's statistics of this process, such as memory and processor time. A value is `nil` if the system
/// does not provide it.
struct ProcessStatistics {
    var residentBytes: Int?
    var virtualBytes: Int?
    var cpuSeconds: Double?
    var openDescriptors: Int?
    var maxDescriptors: Int?

    /// Reads the statistics of this process. Sources: proc(5), getrlimit(2).
    init() {
        if let text = Files.bytes(of: "/proc/self/stat").map({ String(decoding: $0, as: UTF8.self) }),
            let end = text.lastIndex(of: ")")
        {
            // Skip the first two fields of `/proc/self/stat`: the second field, the process's name, can contain any
            // character.
            let fields = text[text.index(after: end)...].split(separator: " ").map { Int($0) ?? 0 }
            if fields.count > 21 {
                cpuSeconds = Double(fields[11] + fields[12]) / Double(sysconf(Int32(_SC_CLK_TCK)))
                virtualBytes = fields[20]
                residentBytes = fields[21] * sysconf(Int32(_SC_PAGESIZE))
            }
        }
        // `/proc/self/fd` also lists the file descriptor with which this method reads that directory, so one descriptor
        // is subtracted.
        openDescriptors = Files.names(in: "/proc/self/fd").map { $0.count - 1 }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            maxDescriptors = Int(clamping: limit.rlim_cur)
        }
    }
}
