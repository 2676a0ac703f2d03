/** A string, closed or not; a word; or one sign. Empty at the end. */
const tokens = /"(?:[^"\\\n]+|\\.)*"?|[^\s",:[\]{}]+|[^]|$/y;

/**
 * Reads JSON for an editor. `places`: `{start, end}` in UTF-16 units by JSON Pointer, a member's from its name on.
 * `fault`: the first, `{start, end, detail}`; then `places` has the values before it.
 */
export function readText(text) {
  const places = new Map();
  let fault;
  /** The last token's end; the next token and its place. */
  let last = 0, token, start, end = 0;
  const look = () => {
    for (start = end; " \t\r\n".includes(text[start] ?? "x");) start++;
    tokens.lastIndex = start;
    [token] = tokens.exec(text);
    end = start + token.length;
  };
  const pass = () => {
    last = end;
    look();
  };
  const shown = () => token.length > 20 ? `${token.slice(0, 20)}…` : token;
  const fail = (detail, from = start, to = end) => {
    fault = { start: from, end: to, detail };
    throw fault;
  };
  const missing = (what) => token ? fail(`${what} is missing before ${shown()}.`) : fail(`${what} is missing at the end.`, Math.max(0, last - 1), last);
  const scalar = () => {
    try {
      return JSON.parse(token);
    } catch {
      if (token[0] !== '"') fail(`${shown()} is not a JSON value.`);
      fail(/^"(?:[^"\\]|\\.)*"$/.test(token) ? "The string contains what JSON does not allow." : "The string does not end on its line.");
    }
  };
  const items = (close, item) => {
    pass();
    if (token === close) return pass();
    for (;;) {
      item();
      if (token === close) return pass();
      if (token !== ",") missing(`A comma or ${close}`);
      const comma = start;
      pass();
      if (token === close) fail(`A comma stands before ${close}.`, comma, comma + 1);
    }
  };
  const value = (pointer, from = start) => {
    const place = { start: from, end: text.length };
    places.set(pointer, place);
    if (token === "{") {
      items("}", () => {
        const from = start;
        if (token[0] !== '"') missing("A name in quotes");
        const name = scalar().replaceAll("~", "~0").replaceAll("/", "~1");
        pass();
        if (token !== ":") missing("A colon");
        pass();
        value(`${pointer}/${name}`, from);
      });
    } else if (token === "[") {
      let index = 0;
      items("]", () => value(`${pointer}/${index++}`));
    } else if ("]},:".includes(token)) missing("A value");
    else {
      scalar();
      pass();
    }
    place.end = last;
  };
  try {
    look();
    value("");
    if (token) fail(`${shown()} stands after the end of the value.`);
  } catch {
    // Otherwise the nesting was too deep for the stack.
    fault ??= { start, end, detail: "The text is nested too deeply." };
  }
  return { places, fault };
}

/** The error names the fault's line. */
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    const { fault } = readText(text);
    throw Object.assign(new SyntaxError(`Line ${lineOf(text, fault.start)}: ${fault.detail}`), { fault });
  }
}

/** From 1. */
export const lineOf = (text, offset) => text.slice(0, offset).split("\n").length;

/** Or the innermost place around it. */
export function located(places, pointer) {
  for (let near = pointer;; near = near.slice(0, near.lastIndexOf("/"))) {
    if (places.has(near)) return places.get(near);
    if (near === "") return { start: 0, end: 0 };
  }
}
