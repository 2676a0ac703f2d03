import BraidRuntime
import Testing

@Suite struct DigitsTests {
    @Test(
        "Only ASCII digits make a number",
        arguments: [("0", 0), ("007", 7), ("9223372036854775807", .max)] as [(String, Int)])
    func numbers(text: String, number: Int) {
        #expect(Int(digits: text) == number)
        #expect(Int(digits: Array(text.utf8)) == number)
    }

    @Test(
        "A sign, a blank, another digit than ASCII's and too large a number make none",
        arguments: ["", "+1", "-1", " 1", "1 ", "1_0", "0x1", "٣", "9223372036854775808", "99999999999999999999"])
    func others(text: String) {
        #expect(Int(digits: text) == nil)
    }
}
