// Made by Scripts/embed from Sources/BraidServer/Inspector/braid.js.

extension Embedded {
    static let braidJS = ##"""
        // @ts-self-types="./braid.d.ts"
        /** Braid Server's client. */
        export class BraidClient {}

        """##
}
