import Foundation

let wanted = Set(CommandLine.arguments.dropFirst())
func isWanted(_ name: String) -> Bool { wanted.isEmpty || wanted.contains(name) }

print("\(ProcessInfo.processInfo.activeProcessorCount) cores, \(ProcessInfo.processInfo.operatingSystemVersionString)")
if isWanted("json") { try jsonBenchmark() }
if isWanted("diff") {
    try diffBenchmark()
    try typedChainBenchmark()
}
if isWanted("engine") { try engineBenchmark() }
if isWanted("descriptions") { try descriptionBenchmark() }
if isWanted("http") { try httpBenchmark() }
if isWanted("commands") { try commandBenchmark() }
if isWanted("streams") { try streamBenchmark() }
