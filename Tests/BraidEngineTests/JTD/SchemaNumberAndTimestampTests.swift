import Testing

@testable import BraidEngine

/// RFC 8927, section 3.3.3, table 2: whole numbers in range, in any spelling.
@Suite struct SchemaIntegerTests {
    static let edges: [(type: String, lowest: String, below: String, highest: String, above: String)] = [
        ("int8", "-128", "-129", "127", "128"), ("uint8", "0", "-1", "255", "256"),
        ("int16", "-32768", "-32769", "32767", "32768"), ("uint16", "0", "-1", "65535", "65536"),
        ("int32", "-2147483648", "-2147483649", "2147483647", "2147483648"),
        ("uint32", "0", "-1", "4294967295", "4294967296"),
    ]

    @Test("The range of an integer type includes its lowest and its highest number", arguments: edges)
    func rangesIncludeTheirEnds(type: String, lowest: String, below: String, highest: String, above: String) throws {
        let schema = try JTDSchema.make("{\"type\": \"\(type)\"}")
        for number in [lowest, highest] {
            // For 0, these would have a leading zero, which JSON forbids.
            let longer = number == "0" ? [] : [number + "0e-1", number + "00.0E-2"]
            for spelling in [number, number + ".0", number + ".000", number + "e0", number + ".0E+0"] + longer {
                #expect(try schema.accepts(spelling), "\(spelling)")
            }
            let beyond = number == "0" ? [] : [number + "e99", number + "1e-1"]
            for spelling in [number + ".5", number + ".00000000000000000000001"] + beyond {
                #expect(try schema.indicators(spelling) == [" /type"], "\(spelling)")
            }
        }
        for number in [
            below, above, below + ".0", above + "e0", "1e400", "-1e400", "1e-400", "99999999999999999999999999",
        ] {
            #expect(try schema.indicators(number) == [" /type"], "\(number)")
        }
    }

    @Test(
        "An integer type accepts every spelling of a whole number, and does not round digits",
        arguments: [
            ("0", true), ("-0", true), ("-0.0", true), ("0e999999999999999999999", true), ("0.0e-5", true),
            ("1e1", true),
            ("1.0e1", true),
            ("2.5e1", true), ("12.50e1", true), ("2550e-1", true), ("255000000000000000000000000e-24", true),
            ("10.0", true), ("1E+2", true),
            ("0.1", false), ("2.55e1", false), ("255.00000000000000000001", false), ("-1e-99", false),
            ("2.56e2", false),
            ("1e3", false),
            ("18446744073709551616", false), ("-9223372036854775808", false), ("1e99999999999999999999", false),
        ])
    func spellingsDoNotMatterAndDigitsAreNotRounded(number: String, isByte: Bool) throws {
        #expect(try JTDSchema.make(#"{"type": "uint8"}"#).accepts(number) == isByte)
    }
}

/// RFC 3339, as refined by RFC 4287, section 3.3.
@Suite struct TimestampTests {
    static let right = [
        "1985-04-12T23:20:50.52Z", "1996-12-19T16:39:57-08:00", "1990-12-31T23:59:60Z", "1990-12-31T15:59:60-08:00",
        "1937-01-01T12:00:27.87+00:20",
        "0000-01-01T00:00:00Z", "0000-02-29T00:00:00Z", "9999-12-31T23:59:59.999999999999999999Z",
        "2000-02-29T00:00:00Z", "2024-02-29T00:00:00Z",
        "2023-02-28T00:00:00Z", "2023-01-31T00:00:00Z", "2023-04-30T00:00:00Z", "2023-01-01T00:00:00-00:00",
        "2023-01-01T00:00:00+23:59",
        "2023-01-01T00:00:00-23:59", "2023-01-01T00:00:00.0Z",
        // Leap seconds, with different offsets.
        "1972-06-30T23:59:60Z", "2016-12-31T23:59:60.5Z", "2017-01-01T00:59:60+01:00", "2016-12-31T18:29:60-05:30",
        "2017-01-01T23:58:60+23:59",
        "2016-12-31T00:00:60-23:59", "2017-01-01T05:29:60+05:30", "2024-02-29T23:59:60Z", "2024-03-01T08:59:60+09:00",
        "9999-12-31T23:59:60Z",
        "0000-01-01T00:00:60+00:01",
    ]

    static let wrong = [
        "", "foo", "Z", "1985-04-12", "23:20:50Z", "1985-04-12T23:20:50", "1985-04-12T23:20Z", "1985-04-12 23:20:50Z",
        "1985-04-12t23:20:50Z",
        "1985-04-12T23:20:50z", "1985-04-12T23:20:50.Z", "1985-04-12T23:20:50,5Z", "1985-04-12T23:20:50.5",
        "1985-04-12T23:20:50Z ", " 1985-04-12T23:20:50Z",
        "1985-04-12T23:20:50Z\n", "1985-04-12T23:20:50ZZ", "1985-04-12T23:20:50+0100", "1985-04-12T23:20:50+01",
        "1985-04-12T23:20:50+1:00",
        "1985-04-12T23:20:50+24:00", "1985-04-12T23:20:50-00:60", "1985-04-12T23:20:50\u{2212}01:00",
        "1985-00-12T23:20:50Z", "1985-13-12T23:20:50Z",
        "1985-04-00T23:20:50Z", "1985-04-31T23:20:50Z", "1985-01-32T23:20:50Z", "2023-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
        "2000-02-30T00:00:00Z", "1985-04-12T24:00:00Z", "1985-04-12T23:60:00Z", "1985-04-12T23:20:61Z",
        "1985-4-12T23:20:50Z", "85-04-12T23:20:50Z",
        "19850412T232050Z", "11985-04-12T23:20:50Z", "-985-04-12T23:20:50Z", "+985-04-12T23:20:50Z",
        "1985-04-12T23:20:50.1.2Z", "1985-04-12T-1:20:50Z",
        "\u{661}985-04-12T23:20:50Z", "1985-04-12T23:20:50.\u{661}Z", "1985-W15-5T23:20:50Z", "1985-102T23:20:50Z",
        // Seconds of 60 at times that cannot have a leap second.
        "1998-12-31T23:58:60Z", "1998-12-31T22:59:60Z", "1998-12-30T23:59:60Z", "1998-12-31T23:59:60+01:00",
        "1990-12-31T15:59:60Z", "1990-12-31T15:59:60-07:00",
        "2017-01-02T00:59:60+01:00", "2023-02-29T23:59:60Z", "2024-02-28T23:59:60Z", "2016-12-31T23:59:61Z",
        "2017-01-01T00:00:60Z",
    ]

    @Test("A valid timestamp is accepted", arguments: right)
    func aTimestampIsOne(text: String) throws {
        #expect(Timestamp.isValid(text))
        #expect(try JTDSchema.make(#"{"type": "timestamp"}"#).errorIndicators(of: .string(text)) == [])
    }

    @Test("An invalid timestamp is refused", arguments: wrong)
    func anythingElseIsNone(text: String) throws {
        #expect(!Timestamp.isValid(text))
        #expect(
            try JTDSchema.make(#"{"type": "timestamp"}"#).errorIndicators(of: .string(text)).map(\.indicator) == [
                " /type"
            ])
    }

    @Test("Every proper prefix of a timestamp is refused")
    func timestampPrefixes() {
        let text = "1985-04-12T23:20:50.52-08:00"
        for length in 0..<text.count { #expect(!Timestamp.isValid(String(text.prefix(length)))) }
    }
}
