import Testing

@testable import BraidHTTP

@Suite struct IPAddressTests {
    @Test(
        "An address is written in its canonical form, and an IPv4-mapped IPv6 address is an IPv4 address",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("2001:db8::1", "2001:db8::1"),
            ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"), ("::", "::"), ("::1", "::1"), ("::ffff:192.0.2.1", "192.0.2.1"),
        ])
    func addresses(text: String, form: String) { #expect(IPAddress(text)?.description == form) }

    @Test(
        "Malformed texts are not IP addresses",
        arguments: [
            "", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4:80", "[::1]", ":", "a", "::1%eth0", "1.2.3.4\0", " 1.2.3.4",
        ])
    func noAddresses(text: String) { #expect(IPAddress(text) == nil) }

    @Test(
        "A network contains exactly the addresses that begin with the network's prefix",
        arguments: [
            ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false), ("10.1.2.3/8", "10.9.9.9", true),
            ("192.0.2.128/25", "192.0.2.128", true), ("192.0.2.128/25", "192.0.2.127", false),
            ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false), ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "::1", false), ("::/0", "8.8.8.8", true), ("::/0", "::1", true),
            ("2001:db8::/33", "2001:db8:7fff::", true), ("2001:db8::/33", "2001:db8:8000::", false),
            ("10.0.0.0/8", "::ffff:10.1.1.1", true), ("::1/128", "::1", true), ("::1/128", "::2", false),
        ])
    func networks(network: String, address: String, contains: Bool) throws {
        #expect(try #require(IPNetwork(network)).contains(try #require(IPAddress(address))) == contains)
    }

    @Test("For each prefix length, exactly the bits of the prefix are compared")
    func prefixes() throws {
        for length in 0...32 {
            let network = try #require(IPNetwork("170.85.170.85/\(length)"))
            for bit in 0..<32 {
                let value = UInt32(0xAA55_AA55) ^ UInt32(1) << UInt32(31 - bit)
                let text = [24, 16, 8, 0].map { "\(value >> $0 & 255)" }.joined(separator: ".")
                #expect(network.contains(try #require(IPAddress(text))) == (bit >= length), "\(length) \(text)")
            }
        }
    }

    @Test(
        "Malformed texts are not networks",
        arguments: [
            "", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "::/129", "10.0.0.0/8/8", "host",
        ])
    func noNetworks(text: String) { #expect(IPNetwork(text) == nil) }
}
