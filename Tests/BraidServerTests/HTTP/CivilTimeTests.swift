import Foundation
import Testing

@testable import BraidServer

@Suite struct CivilTimeTests {
    @Test("A timestamp is what Foundation writes, in every year from 1600 to 9999")
    func asFoundation() {
        var generator = SystemRandomNumberGenerator()
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let edges = [-1, 0, 999, 1_000, -1_000, -1_001, 951_782_400_000, 951_868_799_999, 4_107_542_400_000, 253_402_300_799_999, -11_676_096_000_000]
        for milliseconds in edges + (0..<2_000).map({ _ in Int.random(in: -11_676_096_000_000...253_402_300_799_999, using: &generator) }) {
            // A quarter of a millisecond later: seconds as a Double may lie just before theirs.
            #expect(timestamp(milliseconds) == Date(timeIntervalSince1970: (Double(milliseconds) + 0.25) / 1_000).formatted(style), "\(milliseconds)")
        }
    }

    @Test("A day later is the next day of the week")
    func weekdays() {
        for day in -800_000...800_000 where day % 97 == 0 {
            #expect(CivilTime(secondsSince1970: (day + 1) * 86_400).weekday == (CivilTime(secondsSince1970: day * 86_400).weekday + 1) % 7)
        }
        #expect(CivilTime(secondsSince1970: 0).weekday == 4, "a Thursday")
    }
}
