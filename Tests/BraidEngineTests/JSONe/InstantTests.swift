import Foundation
import Testing

@testable import BraidEngine

@Suite struct InstantTests {
    @Test("An `Instant` is formatted as Foundation formats a date, in every year from 1600 to 9999")
    func asFoundation() {
        var generator = SystemRandomNumberGenerator()
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let edges = [
            -1, 0, 999, 1_000, -1_000, -1_001, 951_782_400_000, 951_868_799_999, 4_107_542_400_000, 253_402_300_799_999,
            -11_676_096_000_000,
        ]
        for milliseconds in edges
            + (0..<2_000).map({ _ in Int.random(in: -11_676_096_000_000...253_402_300_799_999, using: &generator) })
        {
            // The Double may be slightly too small, and round down to the millisecond before.
            #expect(
                Instant(millisecondsSince1970: milliseconds).text
                    == Date(timeIntervalSince1970: (Double(milliseconds) + 0.25) / 1_000).formatted(style),
                "\(milliseconds)")
        }
    }

    @Test("An `Instant` outside the years 1 to 9999 becomes the first or the last moment of these years")
    func clamped() {
        #expect(Instant(millisecondsSince1970: .min).text == "0001-01-01T00:00:00.000Z")
        #expect(Instant(millisecondsSince1970: .max).text == "9999-12-31T23:59:59.999Z")
    }

    @Test("A text is no `Instant` if its year in UTC is not 1 to 9999")
    func yearInUTC() {
        #expect(Instant("0001-01-01T00:00:00Z") != nil && Instant("9999-12-31T23:59:59Z") != nil)
        #expect(Instant("9999-12-31T23:59:60Z") == nil)
        #expect(Instant("0001-01-01T00:00:00+01:00") == nil && Instant("9999-12-31T23:59:59-01:00") == nil)
    }

    @Test(
        "An `Instant` is read from every form of RFC 3339",
        arguments: [
            ("2026-12-24T18:00:00.5Z", "2026-12-24T18:00:00.500Z"),
            ("2026-12-24T18:00:00.1239999Z", "2026-12-24T18:00:00.123Z"),
            ("2026-12-24T18:00:00.000000000+01:00", "2026-12-24T17:00:00.000Z"),
            ("2026-12-24T18:00:00.\(String(repeating: "1", count: 1_000))Z", "2026-12-24T18:00:00.111Z"),
            ("2026-12-24t18:00:00z", "2026-12-24T18:00:00.000Z"), ("2026-12-24T18:00:00.z", nil),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"),
            ("2017-01-01T00:59:60.25+01:00", "2017-01-01T00:00:00.250Z"),
            ("1960-02-29T15:59:60-08:00", "1960-03-01T00:00:00.000Z"), ("2016-12-30T23:59:60Z", nil),
            ("2016-12-31T22:59:60Z", nil), ("2016-12-31T23:59:61Z", nil), ("2026-02-29T00:00:00Z", nil),
            ("2026-12-24T24:00:00Z", nil), ("2026-12-24 18:00:00Z", nil), ("2026-12-24T18:00:00", nil),
        ])
    func formsOfRFC3339(text: String, same: String?) {
        #expect(Instant(text)?.text == same)
    }
}
