import Foundation

let wanted = Set(CommandLine.arguments.dropFirst())
func isWanted(_ name: String) -> Bool { wanted.isEmpty || wanted.contains(name) }

print("\(ProcessInfo.processInfo.activeProcessorCount) cores, \(ProcessInfo.processInfo.operatingSystemVersionString)")
if isWanted("json") { try jsonBenchmark() }
if isWanted("diff") {
    try diffBenchmark()
    try typedChainBenchmark()
}
if isWanted("engine") {
    try engineBenchmark()
    try sectionBenchmark()
}
if isWanted("descriptions") { try descriptionBenchmark() }
if isWanted("http") { try httpBenchmark() }
if isWanted("commands") { try commandBenchmark() }
if isWanted("streams") { try streamBenchmark() }
if isWanted("nginx") { try nginxBenchmark() }
if isWanted("neighbours") { try neighbourBenchmark() }
if isWanted("large") { try largeBenchmark() }
if isWanted("edits") { try editBenchmark() }
if isWanted("durable") { try durableBenchmark() }
// Needs PostgreSQL, and a server that is built with it: not unless it is asked for.
if wanted.contains("postgres") { try durablePostgresBenchmark() }
if wanted.contains("cluster") { try clusterBenchmark() }
if isWanted("records") { try recordBenchmark() }
if isWanted("memory") { try memoryBenchmark() }
if isWanted("start") { try startBenchmark() }
if isWanted("curves") { try curveBenchmark() }
