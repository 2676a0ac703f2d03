// Checks how the inspector's editors read JSON texts.
import assert from "node:assert/strict";
import test from "node:test";
import { loaded } from "./braid.mjs";

const { parsed, readText } = await loaded("inspector/pointers.js");
const signs = ["{", "}", "[", "]", ":", ",", '"a"', "1"];

/** All JSON values of at most `length` tokens, each as an array of tokens. */
function values(length) {
  const made = [[], []];
  for (let size = 1; size <= length; size++) {
    const lists = (open, close, item) => {
      const found = size === 2 ? [[open, close]] : [];
      const grow = (tokens) => {
        for (let rest = 1; tokens.length + rest + 1 <= size; rest++) {
          for (const next of item(rest)) {
            const longer = [...tokens, ...(tokens.length > 1 ? [","] : []), ...next];
            if (longer.length + 1 === size) found.push([...longer, close]);
            else if (longer.length + 1 < size) grow(longer);
          }
        }
      };
      grow([open]);
      return found;
    };
    const leaves = size === 1 ? [['"a"'], ["1"]] : [];
    made[size] = [
      ...leaves,
      ...lists("[", "]", (size) => made[size]),
      ...lists("{", "}", (size) => size > 2 ? made[size - 2].map((value) => ['"a"', ":", ...value]) : []),
    ];
  }
  return made.flat();
}

test("A fault is at the first token that no JSON text can have there, or at the comma before a closing bracket", () => {
  const starts = new Set(values(9).flatMap((tokens) => tokens.map((_, i) => tokens.slice(0, i + 1).join(" "))));
  const check = (tokens) => {
    const text = tokens.join("\n");
    const { fault } = readText(text);
    let isJSON = true;
    try {
      JSON.parse(text);
    } catch {
      isJSON = false;
    }
    assert.equal(fault === undefined, isJSON, text);
    if (fault) {
      const known = tokens.findIndex((_, i) => !starts.has(tokens.slice(0, i + 1).join(" ")));
      const closed = [...tokens.slice(0, known - 1), tokens[known]].join(" ");
      const isComma = tokens[known - 1] === "," && "]}".includes(tokens[known]) && starts.has(closed);
      const line = known < 0 ? tokens.length - 1 : isComma ? known - 1 : known;
      assert.equal(text.slice(0, fault.start).split("\n").length - 1, Math.max(0, line), `${text}: ${fault.detail}`);
    }
    if (tokens.length < 4) signs.forEach((sign) => check([...tokens, sign]));
  };
  check([]);
});

test("A faulty text is refused with the line and the kind of the fault", () => {
  for (const [text, message, marked] of [
    ['{\n  "cell":\n}', "Line 3: A value is missing before }.", "}"],
    ['{\n  "a": 1,\n}', "Line 2: A comma stands before }.", ","],
    ['{\n  "a": 1\n  "b": 2 }', 'Line 3: A comma or } is missing before "b".', '"b"'],
    ['{\n  "cells: {\n}', "Line 2: The string does not end on its line.", '"cells: {'],
    ['{\n  "a": "\\x"\n}', "Line 2: The string contains what JSON does not allow.", '"\\x"'],
    ["[\n  tru,\n  1]", "Line 2: tru is not a JSON value.", "tru"],
    ["{\n  'a': 1 }", "Line 2: A name in quotes is missing before 'a'.", "'a'"],
    ["{}\n}", "Line 2: } stands after the end of the value.", "}"],
    ["[\n1\n\n\n", "Line 2: A comma or ] is missing at the end.", "1"],
    ["", "Line 1: A value is missing at the end.", ""],
  ]) {
    assert.throws(() => parsed(text), ({ message: found, fault }) => found === message && text.slice(fault.start, fault.end) === marked, text);
  }
});

test("A text that is nested too deeply has a fault, however deep it is", () => {
  assert.equal(readText("[".repeat(1_000_000)).fault.detail, "The text is nested too deeply.");
});
