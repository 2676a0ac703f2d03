// Made by Scripts/embed from Sources/BraidServer/Inspector/braid.d.ts.

extension Embedded {
    static let braidDTS = ##"""
        /** Braid Server's client. */
        export declare class BraidClient {}

        """##
}
