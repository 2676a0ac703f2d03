import BraidRuntime
import Glibc

/// What the operating system knows of this process (proc(5), getrlimit(2)).
struct ProcessStatistics {
    var residentBytes: Int?
    var virtualBytes: Int?
    var cpuSeconds: Double?
    var openDescriptors: Int?
    var maxDescriptors: Int?

    init() {
        if let text = Files.bytes(of: "/proc/self/stat").map({ String(decoding: $0, as: UTF8.self) }),
            let end = text.lastIndex(of: ")")
        {
            // The second field, the process's name, can contain any character.
            let fields = text[text.index(after: end)...].split(separator: " ").map { Int(digits: $0) ?? 0 }
            if fields.count > 21 {
                cpuSeconds = Double(fields[11] + fields[12]) / Double(sysconf(Int32(_SC_CLK_TCK)))
                virtualBytes = fields[20]
                residentBytes = fields[21] * sysconf(Int32(_SC_PAGESIZE))
            }
        }
        // Without the one that reads this directory.
        openDescriptors = Files.names(in: "/proc/self/fd").map { $0.count - 1 }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            maxDescriptors = Int(clamping: limit.rlim_cur)
        }
    }
}
