/**
 * The places of all values in a JSON text, by JSON Pointer, as `{start, end}` in UTF-16 code units. The place of a
 * member begins at the member's name.
 * If the text is not valid JSON, the result contains the values before the first error.
 */
export function locations(text) {
  const places = new Map();
  let i = 0;
  const space = () => {
    while (" \t\r\n".includes(text[i] ?? "x")) i++;
  };
  const fail = () => {
    throw new SyntaxError("not JSON");
  };
  const string = () => {
    const match = /"(?:[^"\\]|\\.)*"/y;
    match.lastIndex = i;
    const found = match.exec(text) ?? fail();
    i = match.lastIndex;
    return JSON.parse(found[0]);
  };
  const items = (close, item) => {
    i++;
    space();
    if (text[i] === close) return void i++;
    for (;;) {
      space();
      item();
      space();
      if (text[i] === close) return void i++;
      if (text[i++] !== ",") fail();
    }
  };
  const value = (pointer, start = i) => {
    const place = { start, end: text.length };
    places.set(pointer, place);
    if (text[i] === "{") {
      items("}", () => {
        const start = i;
        const name = string().replaceAll("~", "~0").replaceAll("/", "~1");
        space();
        if (text[i++] !== ":") fail();
        space();
        value(`${pointer}/${name}`, start);
      });
    } else if (text[i] === "[") {
      let index = 0;
      items("]", () => value(`${pointer}/${index++}`));
    } else if (text[i] === '"') string();
    else {
      const word = /[^\s,\]}]+/y;
      word.lastIndex = i;
      if (!word.exec(text)) fail();
      i = word.lastIndex;
    }
    place.end = i;
  };
  try {
    space();
    value("");
  } catch { /* The result contains the values that were found before the error. */ }
  return places;
}

/**
 * The place of a pointer's value. If the text does not contain this value, the result is the place of the nearest value
 * that encloses it.
 */
export function located(places, pointer) {
  for (let near = pointer;; near = near.slice(0, near.lastIndexOf("/"))) {
    if (places.has(near)) return places.get(near);
    if (near === "") return { start: 0, end: 0 };
  }
}
