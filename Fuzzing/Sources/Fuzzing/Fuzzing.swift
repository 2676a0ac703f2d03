import Glibc

/// The function that libFuzzer calls for each input (llvm.org/docs/LibFuzzer.html, "Fuzz Target"). All fuzz targets are
/// in one binary. The environment variable BRAID_FUZZ_TARGET names the target that runs.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FuzzTarget.current.run(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

enum FuzzTarget: String {
    case http, gzip, json, template, schema, description, diff

    static let current: FuzzTarget = {
        let name = getenv("BRAID_FUZZ_TARGET").map { String(cString: $0) } ?? ""
        guard let target = FuzzTarget(rawValue: name) else {
            preconditionFailure("BRAID_FUZZ_TARGET is no target: \"\(name)\"")
        }
        return target
    }()

    func run(_ input: [UInt8]) {
        switch self {
        case .http: fuzzHTTP(input)
        case .gzip: fuzzGzip(input)
        case .json: fuzzJSON(input)
        case .template: fuzzTemplate(input)
        case .schema: fuzzSchema(input)
        case .description: fuzzDescription(input)
        case .diff: fuzzDiff(input)
        }
    }
}

/// Checks a claim that must hold for every input. If the claim does not hold, the program aborts, and libFuzzer keeps
/// the input, as after a crash.
func claim(_ holds: @autoclosure () throws -> Bool, _ what: @autoclosure () -> String) rethrows {
    guard try !holds() else { return }
    print("CLAIM: \(what())")
    fflush(nil)
    abort()
}

/// Numbers that are made from the bytes of an input, so that the fuzzer decides what happens. After the last byte, all
/// numbers are 0.
struct Choices {
    private var rest: ArraySlice<UInt8>
    init(_ bytes: some Sequence<UInt8>) { rest = Array(bytes)[...] }

    var isEmpty: Bool { rest.isEmpty }
    mutating func below(_ bound: Int) -> Int { bound <= 1 ? 0 : Int(rest.popFirst() ?? 0) % bound }
}
