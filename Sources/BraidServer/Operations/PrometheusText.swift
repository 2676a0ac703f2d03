import BraidStore

/// Metrics in Prometheus' text format, version 0.0.4.
/// Source: prometheus.io/docs/instrumenting/exposition_formats.
struct PrometheusText {
    static let mediaType = "text/plain"
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    enum Kind: String { case counter, gauge, histogram }

    private(set) var text = ""

    /// Begins a metric family. Names, labels and help texts are constants of this program and need no escapes.
    mutating func family(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    }

    mutating func sample(_ name: String, _ labels: [(String, String)], _ value: Double) {
        text += name
        if !labels.isEmpty { text += "{" + labels.map { "\($0)=\"\($1)\"" }.joined(separator: ",") + "}" }
        text += " \(Self.number(value))\n"
    }

    mutating func sample(_ name: String, _ labels: [(String, String)], _ value: Int) {
        sample(name, labels, Double(value))
    }

    /// Writes a family of one sample.
    mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
        family(name, kind, help)
        sample(name, [], value)
    }

    mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: Int) {
        single(name, kind, help, Double(value))
    }

    /// Prometheus' buckets are cumulative.
    mutating func histogram(_ name: String, _ labels: [(String, String)], _ histogram: Histogram) {
        var total = 0
        for (bound, count) in zip(histogram.bounds.map(Self.number) + ["+Inf"], histogram.counts) {
            total += count
            sample(name + "_bucket", labels + [("le", bound)], total)
        }
        sample(name + "_sum", labels, histogram.sum)
        sample(name + "_count", labels, total)
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int(value)) : String(value)
    }
}
