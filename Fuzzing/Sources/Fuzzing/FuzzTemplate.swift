import BraidEngine

/// Fuzzes templates and expressions. The input is `{"template": …, "context": {…}}`, or the text of an expression.
///
/// Rendering must end within its budget and give the same result a second time. The result must be JSON that the
/// engine's own parser accepts.
func fuzzTemplate(_ input: [UInt8]) {
    guard let json = try? JSONValue(parsing: input), let object = json.objectValue else { return fuzzExpression(input) }
    let names = (object["context"]?.objectValue?.members ?? []).map { ($0.name, $0.value) }
    let context = JSONeContext(now: "2000-01-01T00:00:00.000Z", names)
    do throws(JSONeError) {
        let template = try JSONeTemplate(object["template"] ?? json)
        check { (budget) throws(JSONeError) in try template.render(context, budget: &budget) }
    } catch {
        claim(!error.message.isEmpty, "a fault says nothing")
    }
}

private func fuzzExpression(_ input: [UInt8]) {
    guard let source = String(validating: input, as: UTF8.self), let expression = try? Expression(source) else {
        return
    }
    let context = JSONeContext(
        now: "2000-01-01T00:00:00.000Z",
        [
            ("model", ["id": "a", "n": 2.5, "list": [3, 1, 2], "none": .null]), ("row", 3), ("section", "attending"),
            ("state", ["on": true]),
        ])
    check { (budget) throws(JSONeError) in try expression.evaluate(context, budget: &budget) }
}

private func check(_ render: (inout JSONeBudget) throws(JSONeError) -> JSONValue?) {
    let limits = (steps: 20_000, output: 200_000)
    var results: [String] = []
    for _ in 0..<2 {
        var budget = JSONeBudget(steps: limits.steps, output: limits.output)
        do throws(JSONeError) {
            guard let value = try render(&budget) else {
                results.append("absent")
                continue
            }
            let text = JSONText(value)
            // The budget counts 1 for each byte of a string and 16 for each value. In JSON, each byte of a string needs
            // at most six bytes.
            claim(
                text.count <= 6 * limits.output + 64 || names(value),
                "\(text.count) bytes out of a budget of \(limits.output)")
            claim((try? JSONText(parsing: text.bytes, depthLimit: 1000)) == text, "the result is not JSON")
            results.append(text.text)
        } catch {
            claim(!error.message.isEmpty, "a failure says nothing")
            results.append("\(error)")
        }
        claim(budget.remainingSteps >= 0 && budget.remainingSteps <= limits.steps, "steps: \(budget.remainingSteps)")
        claim(
            budget.remainingOutput >= 0 && budget.remainingOutput <= limits.output, "output: \(budget.remainingOutput)")
    }
    claim(results[0] == results[1], "twice the same template, and two results: \(results)")
}

/// Whether the result is shorter than 1 MiB, so that it may consist of literals of the template. Literals do not count
/// in the budget, because they are as large as the template itself.
private func names(_ value: JSONValue) -> Bool { JSONText(value).count < 1 << 20 }
