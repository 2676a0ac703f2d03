"""Checks that the pages and the comments are short: their sentences, their lines and the pages themselves."""
import re

import pytest

from documents import ROOT, Document
from prose import Sentence, comment_sentences, long_lines, page_sentences, too_many_long, words

PATTERNS = [
    "*.md", "Clients/*/*.md", "docs/**/*.md", "Examples/*/README.md", "Benchmarks/*.md", "Sources/**/*.docc/*.md",
]
PAGES = [Document(path) for pattern in PATTERNS for path in sorted(ROOT.glob(pattern))]
MODULES = sorted(path.name for path in (ROOT / "Sources").iterdir() if any(path.rglob("*.swift")))
EACH = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name.replace("/", "-"))


def sentences_of_comments(module):
    """Yields pairs of a file's name and a sentence of its comments."""
    for path in sorted((ROOT / "Sources" / module).rglob("*.swift")):
        for sentence in comment_sentences(path.read_text(encoding="utf-8")):
            yield str(path.relative_to(ROOT)), sentence


def listed(pairs, count=None):
    """Returns a message with the file, the line, the number of words and the text of each sentence."""
    lines = [f"{name}:{sentence.line}: ({sentence.words} words) {sentence.text}" for name, sentence in pairs]
    return f"{len(lines)} of {count} sentences:\n" + "\n".join(lines)


@EACH
def test_few_sentences_of_a_page_are_long(page):
    found = page_sentences(page.text)
    long = too_many_long(found)
    assert not long, listed([(page.name, sentence) for sentence in long], len(found))


@pytest.mark.parametrize("module", MODULES)
def test_long_sentences_in_comments(module):
    """Few sentences of a module's comments are long."""
    found = list(sentences_of_comments(module))
    long = too_many_long([sentence for _, sentence in found])
    assert not long, listed([pair for pair in found if pair[1].is_long], len(found))


@EACH
def test_no_line_of_a_page_is_long(page):
    numbers = long_lines(page)
    assert not numbers, f"{page.name}: longer than 120 characters: lines {numbers}"


LENGTHS = [  # words outside code, by the first pattern that fits
    (r"README\.md", 600),
    (r"ARCHITECTURE\.md", 2500),
    (r"docs/(guides|recipes|cookbook)/", 900),
    (r"docs/|Sources/", 1800),
    (r"Clients/|Examples/", 700),
    (r"Benchmarks/", 3000),
    (r"", 1500),
]


@EACH
def test_length(page):
    """Every page is short enough for its kind."""
    count = words(page)
    most = next(most for pattern, most in LENGTHS if re.match(pattern, page.name))
    assert count <= most, f"{page.name} has {count} words. Split it, or cut it."


# MARK: The measures


def test_sentences_are_found_in_markdown():
    text = """# A heading of four words
The first sentence goes
over two lines. The second one (in brackets) ends here! *This* one follows it.

- An item without a full stop
- **A bold sentence is here.** And another one behind it.
<!-- file: not-a-sentence.json -->
```sh
echo this is not a sentence at all.
```
| a | a cell with five words |
|---|---|
| `code` | One cell has this. It has two sentences. |
Too short.
"""
    assert page_sentences(text) == [
        Sentence(1, "A heading of four words"),
        Sentence(2, "The first sentence goes over two lines."),
        Sentence(3, "The second one (in brackets) ends here!"),
        Sentence(3, "*This* one follows it."),
        Sentence(5, "An item without a full stop"),
        Sentence(6, "**A bold sentence is here.**"),
        Sentence(6, "And another one behind it."),
        Sentence(11, "a cell with five words"),
        Sentence(13, "One cell has this."),
        Sentence(13, "It has two sentences."),
    ]


def test_sentences_are_found_in_comments():
    source = '''/// Returns the rows of a section.
///
/// - Parameters:
///   - section: The index of the section
///     among all displayed sections.
/// ```swift
/// let rows = this is code, not a sentence
/// ```
func rows() {
    let url = "http://127.0.0.1 // no comment in here"
    let count = 1 // The number of open files.
    // MARK: This is not a sentence
    // A comment over two
    // lines is one sentence.
}'''
    assert comment_sentences(source) == [
        Sentence(1, "Returns the rows of a section."),
        Sentence(4, "The index of the section among all displayed sections."),
        Sentence(11, "The number of open files."),
        Sentence(13, "A comment over two lines is one sentence."),
    ]


def test_words_are_counted():
    for text, count in [
        ("The server – a process – returns `GET /v1/sessions` at once.", 8),
        ("See [the guide to clients](guides/client.md) for more.", 7),
        ("``BatchUpdate/applied(to:)`` throws where `a b c` → `d`.", 5),
    ]:
        assert Sentence(1, text).words == count, text


def test_a_few_long_sentences_are_allowed():
    short, long = Sentence(1, "word " * 30), Sentence(2, "word " * 31)
    assert not short.is_long and long.is_long
    assert too_many_long([short] * 5 + [long]) == []
    assert too_many_long([short] * 5 + [long] * 2) == [long, long]
    assert too_many_long([short] * 32 + [long]) == [long]
    assert too_many_long([short] * 33 + [long]) == []
    assert too_many_long([short] * 97 + [long] * 3) == []


def test_long_lines_are_found(tmp_path):
    path = ROOT / "README.md"
    document = Document(path)
    document.prose = [(1, "a " * 60), (2, "a " * 61), (3, "| " + "a " * 80 + "|"), (4, "- " + "a" * 130)]
    assert long_lines(document) == [2]
