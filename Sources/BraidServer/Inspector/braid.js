// @ts-self-types="./braid.d.ts"
/** Braid Server's client. */
export class BraidClient {}
