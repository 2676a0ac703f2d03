/** Braid Server's client. */
export declare class BraidClient {}
