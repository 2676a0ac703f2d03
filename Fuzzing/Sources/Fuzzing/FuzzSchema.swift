import BraidEngine

/// Fuzzes schemas of JSON Type Definition. The input is `{"schema": …, "instance": …}`.
///
/// A schema must either be correct or have faults that point into it. The mismatches of an instance must point into the
/// instance and the schema, and their number must not exceed the requested limit.
func fuzzSchema(_ input: [UInt8]) {
    guard let json = try? JSONValue(parsing: input), let object = json.objectValue else { return }
    let document = object["schema"] ?? json, instance = object["instance"] ?? json
    let (schema, faults) = JTDSchema.compile(document)
    claim((schema == nil) == !faults.isEmpty, "neither a schema nor faults, or both")
    for fault in faults {
        claim(document[fault.pointer] != nil && !fault.message.isEmpty, "the fault \(fault) points nowhere")
    }
    guard let schema else { return }
    let mismatches = schema.errorIndicators(of: instance)
    claim(mismatches.count <= 32, "more mismatches than asked for")
    for mismatch in mismatches {
        claim(instance[mismatch.instancePath] != nil, "\(mismatch) points nowhere in the instance")
        claim(document[mismatch.schemaPath] != nil, "\(mismatch) points nowhere in the schema")
    }
    claim(
        schema.errorIndicators(of: instance, limit: 1) == Array(mismatches.prefix(1)),
        "the first mismatch is another one alone")
}
