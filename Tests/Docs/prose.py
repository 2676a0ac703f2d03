"""Finds the sentences of Markdown pages and of Swift comments, and the long ones among them."""
import re
from dataclasses import dataclass

LONG = 30  # words; a sentence with more words counts as long
SHORT = 4  # words; a shorter text, such as "See below.", is not counted as a sentence
LINE = 120  # characters


@dataclass(frozen=True)
class Sentence:
    line: int  # the number of the line in which the sentence begins, from 1
    text: str

    @property
    def words(self):
        """The number of words. Code in backticks counts as one word. The target of a link counts as part of the word
        before it.
        """
        return sum(any(map(str.isalnum, word)) for word in blanked(self.text).split())

    @property
    def is_long(self):
        return self.words > LONG


def blanked(text):
    """Replaces each piece of code in backticks by letters X of the same length, so that the code is one word."""
    return re.sub(r"(`+)(?:(?!`).)+\1", lambda code: "X" * len(code[0]), text, flags=re.S)


def is_table_row(line):
    return line.lstrip().startswith("|")


def page_sentences(text):
    """Returns the sentences of a Markdown page."""
    return sentences(enumerate(text.split("\n"), 1))


def sentences(lines):
    """Returns the sentences of Markdown lines, without fenced blocks. `lines` are pairs of a line number and a line."""
    found, paragraph, is_code = [], [], False
    for number, line in [*lines, (0, "")]:
        text = line.strip()
        if text.startswith("```"):
            is_code = not is_code
        item = re.match(r"(?:[-*+]|\d+\.) +", text)
        is_break = not text or is_code or item or re.match(r"[#|]|<(?!doc:)|```", text)
        if is_break and paragraph:
            found += split(paragraph)
            paragraph = []
        if is_code or text.startswith("```"):
            continue
        if is_table_row(text):
            for cell in re.split(r"(?<!\\)\|", text.strip("|")):
                found += split([(number, cell.strip())])
        elif text.startswith("#"):
            found += split([(number, text.lstrip("# "))])
        elif text and (text[0] != "<" or text.startswith("<doc:")):
            paragraph.append((number, re.sub(r"^(?:[-*+]|\d+\.|>) +", "", text)))
    return found


def split(paragraph):
    """Returns the sentences of one paragraph. `paragraph` contains pairs of a line number and a line."""
    text = " ".join(line for _, line in paragraph)
    starts = [0]
    for end in re.finditer(r"[.!?:;][\"')\]*_”]*\s+(?=[\"'(*_“]*[A-ZÀ-Þ\[])", blanked(text)):
        starts.append(end.end())
    found = []
    for start, end in zip(starts, [*starts[1:], len(text)]):
        offset, line = 0, paragraph[0][0]
        for number, part in paragraph:
            if offset <= start:
                line = number
            offset += len(part) + 1
        sentence = Sentence(line, text[start:end].strip())
        if sentence.words >= SHORT:
            found.append(sentence)
    return found


COMMENT = re.compile(r"(?P<code>(?:[^\"/]|/(?!/)|\"(?:\\.|[^\"\\])*\")*)//+ ?(?P<text>.*)")


def comment_sentences(source):
    """Returns the sentences of the comments in Swift code. Comments on consecutive lines are one text."""
    found, block = [], []
    for number, line in enumerate([*source.split("\n"), ""], 1):
        comment = COMMENT.fullmatch(line) if "//" in line else None
        is_trailing = comment and comment["code"].strip()
        if (not comment or is_trailing) and block:
            found += sentences(block)
            block = []
        if comment and not re.match(r"MARK:|swift-|swiftlint|snippet:|end$", comment["text"]):
            block.append((number, comment["text"]))
            if is_trailing:
                found += sentences(block)
                block = []
    return found


def long_lines(document):
    """Returns the numbers of a page's lines that are too long. Fenced blocks, tables, and lines that cannot be broken,
    such as a single URL, do not count."""
    return [
        number for number, line in document.prose
        if len(line) > LINE and not is_table_row(line) and " " in re.sub(r"^\s*(?:[-*+]|\d+\.) +", "", line)]


def too_many_long(found):
    """Returns the long sentences if there are too many of them: more than 3 %, or, in a text of fewer than 15
    sentences, more than one.
    """
    long = [sentence for sentence in found if sentence.is_long]
    is_over = len(long) > 1 if len(found) < 15 else len(long) > 0.03 * len(found)
    return long if is_over else []


def words(document):
    """Counts the words of a page outside fenced blocks and comments."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", document.text, flags=re.S)
    return len(re.findall(r"[A-Za-z0-9`'’.\-_/]+", text))
