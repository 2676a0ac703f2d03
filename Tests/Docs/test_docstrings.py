"""Checks that every public declaration of the Swift libraries has a docstring."""
import re

import pytest

from documents import ROOT

MODULES = sorted(path.name for path in (ROOT / "Sources").iterdir() if any(path.rglob("*.swift")))
# Requirements of standard protocols and of JSONWritable. They need no docstring, because the protocol explains them.
WITNESSES = {
    "==", "<", "hash(into:)", "encode(to:)", "init(from:)", "description", "debugDescription", "errorDescription",
    "init(stringLiteral:)", "init(integerLiteral:)", "init(floatLiteral:)", "init(booleanLiteral:)", "init(nilLiteral:)",
    "init(arrayLiteral:)", "init(dictionaryLiteral:)", "write(to:)",
}
TYPES = {"actor", "class", "enum", "extension", "protocol", "struct"}
ACCESS = "public|open|internal|package|private|fileprivate"
MODIFIERS = (
    rf"(?:(?:{ACCESS})(?:\(set\))?|static|class(?= +(?:func|var|let|subscript)\b)|final|override|mutating|nonmutating|nonisolated(?:\(\w+\))?"
    r"|isolated|convenience|required|lazy|weak|unowned|indirect|prefix|postfix|infix|dynamic|consuming|borrowing|distributed)"
)
DECLARATION = re.compile(
    rf"(?:@\w+(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?\s+)*(?P<modifiers>(?:{MODIFIERS}\s+)*)"
    r"(?P<kind>actor|associatedtype|case|class|enum|extension|func|init|let|operator|protocol|struct|subscript|typealias|var)\b(?P<rest>.*)"
)
STRING_OR_COMMENT = re.compile(
    r'(?P<raw>#+)"""(?s:.*?)"""(?P=raw)|(?P<line>#+)"[^\n]*?"(?P=line)|"""(?s:(?:\\.|[^\\])*?)"""'
    r'|"(?:\\\((?:[^()"]|\([^()]*\)|"(?:\\.|[^"\\\n])*")*\)|\\.|[^"\\\n])*"|//[^\n]*|/\*(?s:.*?)\*/'
)


def blanked(text):
    """Replaces strings and comments by spaces, so that braces and keywords occur only in code."""
    return STRING_OR_COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def full_name(kind, code):
    """Returns the declaration's name as Swift writes it, such as `hash(into:)`. `code` is the text after the
    declaration's keyword.
    """
    if kind in ("init", "subscript"):
        name, rest = kind, code.lstrip("?!")
    else:
        match = re.match(r"\s*`?(\w+|[^\s\w(`]+)`?", code)
        name, rest = match[1], code[match.end():]
    if kind not in ("func", "init", "subscript") or not name[0].isalpha():
        return name
    labels, depth, starts = "", 0, True
    for token in re.findall(r"->|\w+|\S", re.sub(r"^\s*<.*?>(?=\()", "", rest, flags=re.S)):
        if token in "([{<":
            depth += 1
        elif token in ")]}>":
            depth -= 1
            if depth == 0:
                break
        elif token == "," and depth == 1:
            starts = True
        elif depth == 1 and starts:
            labels, starts = labels + token + ":", False
    return f"{name}({labels})"


def has_docstring(lines, code, number):
    """Returns whether the declaration on a line has a docstring above it. Attributes may be between the docstring and
    the declaration.
    """
    depth = 0
    for above in range(number - 1, -1, -1):
        attribute = code[above].strip()
        depth += attribute.count(")") - attribute.count("(")
        if depth <= 0 and (not attribute.startswith("@") or DECLARATION.match(attribute)):
            return re.match(r"\s*///", lines[above]) is not None
    return False


def declarations(text):
    """Yields each public declaration, as the number of its line, its name, and whether it has a docstring.

    A declaration on the line of its type, such as `enum Role { case participant, viewer }`, belongs to the type's docstring.
    """
    lines, code = text.split("\n"), blanked(text).split("\n")
    # One entry for each open brace: the kind of the type and whether its members can be public, or `None` if the brace
    # does not begin a type.
    scopes, opening, found = [], None, []
    for number, line in enumerate(code):
        match = DECLARATION.match(line.strip()) if all(scopes) else None
        kind = match and match["kind"]
        outer, is_visible = (scopes and scopes[-1]) or (None, True)
        # In other types than enums, `case` begins a branch of a `switch` in an accessor.
        if match and (kind != "case" or outer == "enum"):
            access = re.search(rf"\b({ACCESS})\b(?!\()", match["modifiers"])
            inherits = kind == "case" or outer in ("protocol", "public extension")
            is_public = is_visible and (access[1] in ("public", "open") if access else inherits)
            if kind in TYPES:
                opening = ("public extension" if is_public else kind, True) if kind == "extension" else (kind, is_public)
            if is_public and kind != "extension":
                rest = "\n".join([match["rest"], *code[number + 1:number + 10]])
                found.append((number + 1, full_name(kind, rest), has_docstring(lines, code, number)))
        for brace in re.findall("[{}]", line):
            if brace == "{":
                scopes.append(opening)
                opening = None
            else:
                scopes.pop()
    assert not scopes
    return found


@pytest.mark.parametrize("module", MODULES)
def test_every_public_declaration_has_a_docstring(module):
    count, missing = 0, []
    for path in sorted((ROOT / "Sources" / module).rglob("*.swift")):
        for line, name, is_documented in declarations(path.read_text()):
            if name not in WITNESSES:
                count += 1
                if not is_documented:
                    missing.append(f"{path.relative_to(ROOT)}:{line} {name}")
    assert count > 200 or module not in ["BraidEngine", "BraidClient"]
    assert not missing, f"{len(missing)} of {count} public declarations of {module} have no docstring:\n" + "\n".join(missing)


def test_undocumented_declarations_are_found():
    source = '''
/// Documented.
public struct Table {
    public var rows = 0
    // Not a docstring.
    @inlinable
    @available(*, deprecated,
        message: "public var {"
    )
    public func count(of id: Int, _ name: String) -> Int { 1 }
    /// Documented.
    @available(*, deprecated,
        message: "public var {"
    )
    public func documented() {}
    /// Documented.
    @discardableResult public func first() -> Int { 1 }
    @discardableResult public func second() -> Int { 1 }
    public init?<Name>(_ name: Name) where Name: Sendable {}
    public subscript(index: Int) -> Int {
        switch index {
        case 1: 1
        default: 2
        }
    }
    private(set) public var state = "}"
    struct Hidden {
        public var isHidden = true
    }
    func hidden() { let local = 1 }
    public static func == (left: Table, right: Table) -> Bool { true }
}
/// Documented.
public enum Kind {
    case one
    /// Documented.
    case two
}
public extension String {
    func isName() {}
    private func hidden() {}
}
/// Documented.
public protocol Source {
    associatedtype Element
    func next()
}
extension Source {
    public func rest() {}
    func hidden() {}
}
'''
    missing = [name for _, name, is_documented in declarations(source) if not is_documented]
    assert missing == [
        "rows", "count(of:_:)", "second()", "init(_:)", "subscript(index:)", "state", "==", "one", "isName()", "Element",
        "next()", "rest()",
    ]
