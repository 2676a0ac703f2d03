/// The same numbers for a seed on every platform: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014).
public struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    /// Seeds that differ by 1 give unrelated numbers.
    public init(seed: UInt64) {
        state = (seed ^ (seed >> 31)) &* 0xD6E8_FEB8_6659_FD93 &+ 0x2545_F491_4F6C_DD1D
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
