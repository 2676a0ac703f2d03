"""Reads Markdown documents: their fenced blocks with the marks of these blocks, their links and their headings.

A mark is an HTML comment right before a block. It says how the tests treat the block:

    <!-- file: NAME -->           the reader saves the block in a file with this name
    <!-- copy of PATH -->         the block is a part of this file, which other tests check
    <!-- part of NAME -->        one object in the JSON that the reader saved under this name has the block's members
    <!-- run by PATH -->          this test takes the block from the document and checks it
    <!-- schema: NAME -->         the block fits this schema of docs/openapi.json (NAME/member/... for a part of it)
    <!-- in the other terminal --> the stream that was started last has printed the block's text so far
    <!-- not run: REASON -->      the tests do not check the block
"""
import pathlib
import re
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARKS = ("file", "copy of", "part of", "run by", "schema", "in the other terminal", "not run")


@dataclass
class Block:
    language: str
    text: str
    line: int
    marks: dict = field(default_factory=dict)
    before: "Block | None" = None  # the block directly before this one, without text between the two


class Document:
    def __init__(self, path):
        self.path = path
        self.name = str(path.relative_to(ROOT))
        self.text = path.read_text(encoding="utf-8")
        self.blocks, self.prose = [], []
        self.unknown = []  # the lines of comments before blocks that are no marks, and of marks without a block
        self._read()

    def _read(self):
        marks, last, fence, unread = {}, None, None, []
        for number, line in enumerate(self.text.split("\n"), 1):
            if fence:
                indent, language, start, lines = fence
                if line.strip() == "```":
                    block = Block(language, "\n".join(part.removeprefix(indent) for part in lines) + "\n", start, marks, last)
                    self.blocks.append(block)
                    marks, last, fence = {}, block, None
                else:
                    lines.append(line)
                continue
            self.prose.append((number, line))
            if opening := re.fullmatch(r"( *)```(\S*)", line.rstrip()):
                fence = (opening[1], opening[2], number, [])
                self.unknown += unread
                unread = []
            elif comment := re.fullmatch(r"<!-- *(.*?) *-->", line.strip()):
                name = next((name for name in MARKS if comment[1].startswith(name)), None)
                if name:
                    marks[name] = comment[1][len(name):].lstrip(": ")
                else:
                    unread.append(f"{self.name}:{number}: {line.strip()}")
            elif line.strip():
                unread = []
                if marks:
                    self.unknown.append(f"{self.name}:{number}: a mark without a block")
                marks, last = {}, None
        assert fence is None, f"{self.name}: a block is not closed"

    def of(self, language):
        return [block for block in self.blocks if block.language == language]

    def anchors(self):
        """Returns the anchors that GitHub makes from a document's headings."""
        anchors = []
        for _, line in self.prose:
            if heading := re.match(r"#{1,6} +(.*)", line):
                text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1].strip())
                anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
                same = sum(1 for other in anchors if re.fullmatch(re.escape(anchor) + r"(-\d+)?", other))
                anchors.append(f"{anchor}-{same}" if same else anchor)
        return anchors

    def links(self):
        """Yields the links of a document, as pairs of a line number and a target. Code contains no links."""
        for number, line in self.prose:
            for target in re.findall(r"\]\(([^()\s]+)\)", re.sub(r"`[^`]*`", "", re.sub(r"\[`([^`]*)`\]", r"[\1]", line))):
                yield number, target


def is_part(part, whole):
    """Returns whether `whole` contains, at any depth, an object with all members of `part`."""
    if isinstance(whole, list):
        return any(is_part(part, value) for value in whole)
    if not isinstance(whole, dict):
        return False
    missing = object()
    return all(whole.get(name, missing) == value for name, value in part.items()) or is_part(part, list(whole.values()))


def documents():
    """Returns the documents whose fenced blocks the tests check."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    paths += [path for folder in ["Examples", "Clients"] for path in sorted((ROOT / folder).glob("*/README.md"))]
    return [Document(path) for path in paths]


def linking_documents():
    """Returns the documents whose links the tests check."""
    others = [path for path in sorted(ROOT.glob("*.md")) if path.name != "README.md"]
    return documents() + [Document(path) for path in others + sorted((ROOT / "Sources").rglob("*.md"))]


def section(document, heading):
    """Returns the text under a heading of the second level, up to the next heading of any level."""
    return re.split(r"^#+ ", document.text.split(f"\n## {heading}\n")[1], maxsplit=1, flags=re.M)[0]


def rows(text):
    """Returns the rows of all tables in a text as lists of cells, without the lines of dashes below the headings."""
    lines = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.split("\n") if line.startswith("|")]
    return [cells for cells in lines if not set("".join(cells)) <= set("-: ")]
