"""Uses JSON-e's reference implementation (PyPI: json-e) as an oracle: it computes the expected results for the engine's
tests.

    jsone_oracle.py cases                 the hand-written cases of jsone_cases.json, with the reference's results
    jsone_oracle.py random SEED COUNT     generated cases, the same for the same seed
    jsone_oracle.py specification FILE    the cases of JSON-e's specification.yml, with the results that it specifies

Prints a line of JSON per case: {"template", "context", and "result", "absent": true or "error": true}. The oracle
changes the reference where the engine deliberately differs. The documentation of `Template` gives the reasons.
"""
import datetime
import json
import math
import os
import random
import sys

import jsone.builtins
import jsone.interpreter as interpreter
import jsone.render
from jsone.AST import BinOp
from jsone.shared import DeleteMarker, TemplateError, to_str

# The package's function `render` hides the module of the same name, so the module is taken from `sys.modules`.
reference = sys.modules["jsone.render"]
NOW = "2017-01-19T16:27:20.974Z"


# MARK: Repairs

def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def same(left, right):
    """Compares two values. Unlike in Python, a boolean never equals a number."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(v, right[k]) for k, v in left.items())
    return left == right


def narrowed(value):
    """Converts a whole number that does not fit into 64 bits to a float, as the engine does."""
    return float(value) if isinstance(value, int) and not -2**63 <= value < 2**63 else value


class Done:
    """A node of an expression whose value was already computed."""

    def __init__(self, value):
        self.value = value


class Repaired(interpreter.Interpreter):
    def visit_BinOp(self, node):
        if node.token.kind in ("==", "!="):
            return same(self.visit(node.left), self.visit(node.right)) == (node.token.kind == "==")
        if node.token.kind == "in":
            right = self.visit(node.right)
            if isinstance(right, list):
                left = self.visit(node.left)
                return any(same(left, element) for element in right)
        if node.token.kind in ("||", "&&", ".", "in"):
            return super().visit_BinOp(node)
        # In the reference's tree, the left operand of `**` is the exponent. The operands are evaluated in the same
        # order as in the reference.
        left, right = narrowed(self.visit(node.left)), narrowed(self.visit(node.right))
        result = super().visit_BinOp(BinOp(node.token, Done(left), Done(right)))
        if result is not narrowed(result):
            result = super().visit_BinOp(BinOp(node.token, Done(float(left)), Done(float(right))))
        if isinstance(result, complex) or isinstance(result, float) and not math.isfinite(result):
            raise TemplateError("the result is not a finite number")
        return result

    def visit_Done(self, node):
        return node.value

    def visit_UnaryOp(self, node):
        value = super().visit_UnaryOp(node)
        return narrowed(value) if node.token.kind == "-" else value

    def visit_ValueAccess(self, node):
        for bound in (node.left, node.right):
            if bound and isinstance(self.visit(bound), bool):
                raise interpreter.InterpreterError("a boolean is no index")
        return super().visit_ValueAccess(node)


def no_functions(value):
    if reference.containsFunctions(value):
        raise TemplateError("functions are no values")
    return value


def comparable(op, left, right):
    if not (is_number(left) and is_number(right)) and not (isinstance(left, str) and isinstance(right, str)):
        raise interpreter.infixExpectationError(op, "numbers/strings")


def find(template, context):
    """Replaces the reference's `$find`, which would render the array's elements as templates."""
    original_find({**template, "$find": []}, context)  # the reference raises an error for wrong members of the template
    value = reference.renderValue(template["$find"], context)
    if not isinstance(value, list):
        raise TemplateError("$find value must evaluate to an array")
    key = [k for k in template if k.startswith("each(")][0]
    names = [name.strip() for name in key[5:-1].split(",")]
    for position, element in enumerate(value):
        inner = dict(context)
        inner.update(zip(names, (element, position)))
        if reference.parse(template[key], inner):
            return element
    return DeleteMarker


def match(template, context):
    return [value for value in original_match(template, context) if value is not DeleteMarker]


def sort(template, context):
    """Replaces the reference's `$sort`: whole numbers and floats can be sorted together, and booleans cannot be sorted.
    """
    original_sort({**template, "$sort": []}, context)  # the reference raises an error for wrong members of the template
    value = reference.renderValue(template["$sort"], context)
    if not isinstance(value, list):
        raise TemplateError("not an array")
    keys = value
    by = [k for k in template if k.startswith("by(")]
    if by:
        keys = []
        for element in value:
            inner = dict(context)
            inner[by[0][3:-1]] = element
            keys.append(reference.parse(template[by[0]], inner))
    if not all(is_number(k) for k in keys) and not all(isinstance(k, str) for k in keys):
        raise TemplateError("not of the same type")
    return [value[i] for i in sorted(range(len(keys)), key=lambda i: keys[i])]


def text_of(value):
    return original_to_str(no_functions(value))


def repaired_builtins():
    built = original_build()
    range_, join = built["range"], built["join"]

    def repaired_range(context, *arguments):
        if any(isinstance(argument, bool) for argument in arguments):
            raise TemplateError("a boolean is no number")
        return range_(context, *arguments)

    def repaired_join(context, *arguments):
        if arguments and isinstance(arguments[0], list):
            if any(isinstance(element, (list, dict)) for element in arguments[0]):
                raise TemplateError("only scalars can be joined")
            arguments = ([to_str(element) for element in arguments[0]],) + arguments[1:]
        return join(context, *arguments)

    def with_one(builtin):
        """Repairs `min` and `max` for a single argument: Python's functions expect a sequence if there is only one
        argument.
        """
        return lambda context, *arguments: builtin(context, *(arguments * 2 if len(arguments) == 1 else arguments))

    def narrowing(builtin):
        return lambda context, *arguments: (
            narrowed(builtin(context, *arguments)) if arguments and isinstance(arguments[0], float)
            else builtin(context, *arguments))

    for name in ("ceil", "floor"):
        built[name] = narrowing(built[name])
        built[name]._jsone_builtin = True
    for name in ("min", "max"):
        built[name] = with_one(built[name])
        built[name]._jsone_builtin = True
    for name, function in (("range", repaired_range), ("join", repaired_join)):
        function._jsone_builtin = True
        built[name] = function
    return built


original_find = reference.operators["$find"]
original_sort = reference.operators["$sort"]
original_match = reference.operators["$match"]
original_to_str = reference.to_str
original_build = jsone.builtins.build
jsone.builtins.build = repaired_builtins
interpreter.test_comparison_operands = comparable
reference.to_str = text_of
reference.Interpreter = Repaired
reference.operators.update({"$find": find, "$match": match, "$sort": sort})


def is_json(value):
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return all(is_json(element) for element in value)
    if isinstance(value, dict):
        return all(is_json(member) for member in value.values())
    return value is None or isinstance(value, (bool, int, str))


def solve(template, context):
    case = {"template": template, "context": context}
    try:
        full = {"now": NOW}
        full.update(jsone.builtins.build())
        full.update(json.loads(json.dumps(context)))
        result = reference.renderValue(template, full)
        if result is DeleteMarker:
            case["absent"] = True
        elif reference.containsFunctions(result) or not is_json(result):
            case["error"] = True
        else:
            case["result"] = result
    except Exception:  # noqa: the reference fails in many ways; all are errors
        case["error"] = True
    return case


# MARK: Generated cases

class Generator:
    """Generates random templates that are valid more often than not: most names exist, and most operands fit their
    operators.
    """

    words = ["", "a", "b", "key", "hello world", " padded\t", "Ünïcödé ☃", "𝒳y", "10", "-2.5", "x,y,,z", "0", "abc"]

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = []

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def scalar(self):
        return self.pick(None, True, False, self.integer(), self.integer(), self.fraction(), self.string(), self.string())

    def integer(self):
        return self.pick(0, 1, 2, 3, -1, -2, 7, 10, 255, 1000000, 9007199254740993, -4611686018427387904)

    def fraction(self):
        return self.pick(0.5, 1.5, -2.25, 3.0, 0.1, 1e-7, 1e21, 123456789.125, -0.0, 5e15)

    def string(self):
        return self.random.choice(self.words)

    def value(self, depth):
        kind = self.random.random()
        if depth <= 0 or kind < 0.4:
            return self.scalar()
        if kind < 0.55:
            return [self.integer() for _ in range(self.random.randint(0, 4))]
        if kind < 0.65:
            return [self.string() for _ in range(self.random.randint(0, 4))]
        if kind < 0.8:
            return [self.value(depth - 1) for _ in range(self.random.randint(0, 3))]
        return self.dictionary(depth)

    def dictionary(self, depth):
        return {self.pick("a", "b", "c", "key", "ä", "two words"): self.value(depth - 1)
                for _ in range(self.random.randint(0, 4))}

    def context(self):
        return {"i": self.integer(), "f": self.fraction(), "s": self.string(), "t": True, "n": None,
                "l": [self.integer() for _ in range(self.random.randint(0, 5))],
                "w": [self.string() for _ in range(self.random.randint(0, 4))],
                "o": self.dictionary(3), "p": {"a": self.value(2), "b": {"c": self.string()}},
                "r": [{"a": self.integer(), "b": self.string()} for _ in range(self.random.randint(0, 4))],
                "v": self.value(3)}

    # Expressions. The name of each method says which kind of value its expressions should have.

    def expression(self, depth):
        return self.pick(self.number, self.number, self.text, self.text, self.boolean, self.array, self.object,
                         self.any)(depth)

    def any(self, depth):
        return self.pick(
            lambda: self.random.choice(self.names + ["v", "n", "missing", "min", "now"]),
            lambda: "v.%s" % self.pick("a", "b", "key"),
            lambda: "o[%s]" % self.text(depth - 1),
            lambda: "%s[%s]" % (self.array(depth - 1), self.number(depth - 1)),
            lambda: "(%s)(%s)" % (self.expression(depth - 1), self.number(depth - 1)),
            lambda: "%s.a" % self.object(depth - 1),
            lambda: "!%s.a" % self.object(depth - 1),
        )() if depth > 0 else self.pick("v", "n", "x", "y")

    def number(self, depth):
        if depth <= 0:
            return self.pick("1", "2", "0", "3.5", "007", "1.0", "i", "f", "len(l)", "x", "12345678901234567890")
        a, b = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            lambda: "%s %s %s" % (a, self.pick("+", "-", "*", "/", "+", "-"), b),
            lambda: "(%s) %s (%s)" % (a, self.pick("+", "-", "*", "/"), b),
            lambda: "%s ** %s" % (a, self.pick("2", "3", "-1", "0.5", "len(w)")),
            lambda: "%s(%s)" % (self.pick("-", "+"), a),
            lambda: "-%s" % a,
            lambda: "%s(%s, %s)" % (self.pick("min", "max"), a, b),
            lambda: "%s(%s)" % (self.pick("abs", "ceil", "floor", "sqrt"), a),
            lambda: "number(%s)" % self.pick("'12'", "' 3.50 '", "str(%s)" % a, self.text(depth - 1), "'1_0'", "'1e3'"),
            lambda: "len(%s)" % self.pick(self.text, self.array)(depth - 1),
            lambda: "%s[%s]" % (self.pick("l", "range(0, 6)"), self.pick("0", "1", "-1", "i", "-6")),
            lambda: "p.a", lambda: "r[0].a",
        )()

    def text(self, depth):
        if depth <= 0:
            return self.pick("'a'", '"key"', "''", "s", "w[0]", "'x,y'", "'Ä☃𝒳'", "p.b.c", "y", "'b'")
        a = self.text(depth - 1)
        return self.pick(
            lambda: "%s + %s" % (a, self.text(depth - 1)),
            lambda: "%s(%s)" % (self.pick("uppercase", "lowercase", "strip", "lstrip", "rstrip"), a),
            lambda: "str(%s)" % self.expression(depth - 1),
            lambda: "typeof(%s)" % self.pick("min", self.expression(depth - 1)),
            lambda: "join(%s, %s)" % (self.array(depth - 1), self.pick("','", "''", "1", "1.5", "s")),
            lambda: "%s[%s]" % (a, self.slice(depth)),
            lambda: "%s[%s]" % (a, self.pick("0", "-1", "1", "i")),
            lambda: "fromNow(%s)" % self.offset(),
            lambda: "fromNow(%s, %s)" % (self.offset(), self.pick("'2020-02-28T23:59:59.999999Z'", "now", "s", "''")),
        )()

    def slice(self, depth):
        bound = lambda: self.pick("", "0", "1", "2", "-1", "-2", "100", "-100", "null", "i", "f")
        return "%s:%s" % (bound(), bound())

    def offset(self):
        if self.chance(60):
            parts = [u for u in self.random.sample(
                ["1 year", "2y", "3 months", "5mo", "2 weeks", "4 d", "12 hours", "3h", "7 min", "90m", "1 second", "30s"],
                self.random.randint(0, 3))]
            return "'%s%s'" % (self.pick("", "-", "- ", "+", "-+ "), " ".join(parts))
        return self.pick("''", "'1 day 2 hours'", "'-1 day'", "'1 fortnight'", "'2 h 1 d'", "'9999 years'", "s", "i",
                         "'1y2mo3w4d5h6m7s'", "'999999999999999999999 days'")

    def boolean(self, depth):
        if depth <= 0:
            return self.pick("true", "false", "t", "n", "defined('x')", "defined('s')", "defined('min')")
        a = self.boolean(depth - 1)
        return self.pick(
            lambda: "%s %s %s" % (a, self.pick("&&", "||"), self.boolean(depth - 1)),
            lambda: "!%s" % self.pick(a, "(%s)" % a),
            lambda: "%s %s %s" % (self.number(depth - 1), self.pick("<", ">", "<=", ">=", "==", "!="), self.number(depth - 1)),
            lambda: "%s %s %s" % (self.text(depth - 1), self.pick("<", ">", "<=", ">=", "==", "!="), self.text(depth - 1)),
            lambda: "%s %s %s" % (self.expression(depth - 1), self.pick("==", "!="), self.expression(depth - 1)),
            lambda: "%s in %s" % (self.expression(depth - 1), self.array(depth - 1)),
            lambda: "%s in %s" % (self.text(depth - 1), self.pick(self.text, self.object)(depth - 1)),
            lambda: "true || missing", lambda: "false && missing",
        )()

    def array(self, depth):
        if depth <= 0:
            return self.pick("l", "w", "[]", "r", "[1, 2, 3]", "['b', 'a']")
        return self.pick(
            lambda: "[%s]" % ", ".join(self.expression(depth - 1) for _ in range(self.random.randint(0, 3))),
            lambda: "range(%s)" % self.pick("0, 3", "5, 0, -2", "0, 4, 3", "1, 1", "0, 2.0", "0, 9, 0", "3, 1"),
            lambda: "split(%s, %s)" % (self.text(depth - 1), self.pick("','", "''", "'a'", "1", "0", "s", "' '")),
            lambda: "%s[%s]" % (self.array(depth - 1), self.slice(depth)),
        )()

    def object(self, depth):
        if depth <= 0:
            return self.pick("o", "p", "p.b", "{}", "{a: 1}", "r[0]", "{'two words': 2, b: 'x'}")
        return self.pick(
            lambda: "{%s}" % ", ".join("%s: %s" % (self.pick("a", "b", "'key'", '"ä"'), self.expression(depth - 1))
                                       for _ in range(self.random.randint(0, 3))),
            lambda: "{a: %s,}" % self.expression(depth - 1),
            lambda: "p",
        )()

    # Templates

    def interpolated(self, depth):
        parts = []
        for _ in range(self.random.randint(1, 3)):
            parts.append(self.pick(
                lambda: self.string(), lambda: "$", lambda: "$${i}", lambda: "$$", lambda: "}",
                lambda: "${%s}" % self.pick(self.number, self.text, self.boolean)(depth),
                lambda: "${ %s }" % self.expression(depth),
                lambda: "${i}")())
        return "".join(parts)

    def each(self, *names):
        return "each(%s)" % self.pick(",", ", ").join(names)

    def template(self, depth):
        if depth <= 0:
            return self.pick(
                lambda: {"$eval": self.expression(2)}, lambda: self.interpolated(1), self.scalar,
                lambda: {"$eval": self.random.choice(self.names + ["i", "s"])})()
        sub = lambda: self.template(depth - 1)
        listing = lambda: self.pick(
            lambda: [sub() for _ in range(self.random.randint(0, 3))], lambda: {"$eval": self.array(2)},
            lambda: {"$eval": self.pick("l", "w", "r")})()
        objects = lambda: [self.pick(lambda: {self.pick("a", "b", "c"): sub()}, lambda: {"$eval": self.pick("o", "p", "p.b")})()
                           for _ in range(self.random.randint(0, 3))]
        return self.pick(
            lambda: {"$eval": self.expression(3)},
            lambda: {"$eval": self.expression(3)},
            lambda: self.interpolated(2),
            lambda: [sub() for _ in range(self.random.randint(0, 3))],
            lambda: {self.pick("a", "b", "$$eval", "$$$x", "k${i}", "${s}", "a"): sub() for _ in range(self.random.randint(0, 3))},
            lambda: self.optional({"$if": self.boolean(2)}, ("then", sub), ("else", sub)),
            lambda: {"$json": sub()},
            lambda: {"$flatten": listing()}, lambda: {"$flattenDeep": listing()},
            lambda: {"$reverse": listing()},
            lambda: {"$merge": objects()}, lambda: {"$mergeDeep": objects()},
            lambda: {"$merge": {"$eval": "r"}},
            lambda: self.let(depth), lambda: self.let(depth),
            lambda: self.mapped(listing(), depth), lambda: self.mapped(listing(), depth),
            lambda: self.mapped({"$eval": self.object(1)}, depth),
            lambda: self.reduced(listing(), depth),
            lambda: self.found(listing()),
            lambda: {"$match": {self.boolean(2): sub() for _ in range(self.random.randint(0, 3))}},
            lambda: self.optional({"$switch": self.cases(depth)}),
            lambda: {"$sort": listing()},
            lambda: {"$sort": {"$eval": self.pick("l", "w")}},
            lambda: {"$sort": {"$eval": "r"}, "by(x)": self.pick("x.a", "x.b", "x", "len(x.b)", "-x.a", "0 - x.a")},
            lambda: self.optional({"$fromNow": self.offset().strip("'")}, ("from", lambda: self.pick(NOW, "2000-02-29T00:00:00.5Z", "${now}", "bad"))),
        )()

    def optional(self, template, *members):
        for name, make in members:
            if self.chance(60):
                template[name] = make()
        return template

    def cases(self, depth):
        cases = {self.boolean(2): self.template(depth - 1) for _ in range(self.random.randint(0, 2))}
        if self.chance(50):
            cases["$default"] = self.template(depth - 1)
        return cases

    def scoped(self, names, make):
        before = self.names
        self.names = before + list(names)
        try:
            return make()
        finally:
            self.names = before

    def let(self, depth):
        values = {self.pick("x", "y", "i", "s", "l"): self.template(depth - 1) for _ in range(self.random.randint(0, 2))}
        return {"$let": values, "in": self.scoped(values, lambda: self.template(depth - 1))}

    def mapped(self, value, depth):
        names = self.pick(("x",), ("x", "y"), ("y", "i"))
        body = self.scoped(names, lambda: self.pick(
            lambda: self.template(depth - 1), lambda: {"k${x}": self.template(depth - 1)},
            lambda: {"$if": self.boolean(1), "then": {"$eval": names[0]}})())
        return {"$map": value, self.each(*names): body}

    def reduced(self, value, depth):
        names = self.pick(("x", "y"), ("x", "y", "k"))
        body = self.scoped(names, lambda: self.pick(
            lambda: {"$eval": "x + y"}, lambda: self.template(depth - 1), lambda: [{"$eval": "x"}, {"$eval": "y"}],
            lambda: {"$flatten": [{"$eval": "x"}, {"$eval": "y"}]})())
        return {"$reduce": value, "initial": self.pick(0, "", [], {"a": "${i}"}, None), self.each(*names): body}

    def found(self, value):
        names = self.pick(("x",), ("x", "y"))
        return {"$find": value, self.each(*names): self.scoped(names, lambda: self.boolean(2))}

    # Templates that can never be rendered. The engine must find the error even in a branch that is not used.

    def broken(self):
        return self.pick(
            lambda: {"$eval": self.mangled(self.expression(2))}, lambda: {"$eval": self.pick("", " ", "(", "1 +", "a b", "'x", "{a:}", "[1,,2]", "f(1,)", "a..b", "1 = 2", "a & b", "x[", "x[]", "{1: 2}")},
            lambda: {"$" + self.pick("nothing", "evals", "If"): 1}, lambda: {"$eval": "1", "$json": 2},
            lambda: {"$eval": self.pick(1, None, ["1"], {"$eval": "'1'"})}, lambda: {"$eval": "1", "more": 2},
            lambda: {"$map": [1], "each()": 1}, lambda: {"$map": [1]}, lambda: {"$map": [1], "each(x,y,z)": 1},
            lambda: {"$map": [1], "each(x ,y)": 1}, lambda: {"$map": [1], "each(x)": 1, "each(y)": 1},
            lambda: {"$reduce": [1], "each(x,y)": 1}, lambda: {"$reduce": [1], "initial": 0, "each(x)": 1},
            lambda: {"$find": [1], "each(x)": 1}, lambda: {"$let": {}}, lambda: {"$let": [1], "in": 1},
            lambda: {"$let": {"a b": 1}, "in": 2}, lambda: {"$match": []}, lambda: {"$switch": 1},
            lambda: {"$match": {"1 +": 1}}, lambda: {"$sort": [1], "foo": 1}, lambda: {"$if": 1, "then": 2},
            lambda: "${%s" % self.number(1), lambda: "${}", lambda: "${1 2}", lambda: {"${": 1}, lambda: {"${[1]}": 1},
            lambda: {"$flatten": self.pick(None, {}, "x", 1)}, lambda: {"$merge": self.pick(None, [1], {})},
            lambda: {"$mergeDeep": self.pick(None, [[]], "s")}, lambda: {"$reverse": self.pick("abc", {}, None)},
            lambda: {"$fromNow": self.pick(1, None, ["1 day"])}, lambda: {"$json": {"$eval": "min"}})()

    def mangled(self, expression):
        position = self.random.randint(0, len(expression))
        return expression[:position] + self.pick("(", ")", ",", "@", "'", "}", "=", " 1 2 ", ".", "&") + expression[position:]

    def case(self):
        context = self.context()
        if self.chance(7):
            template = self.broken()
            return (self.pick([template], {"a": template}, template), context)
        return (self.template(self.random.randint(0, 3)), context)


def specified(path):
    import yaml
    with open(path, encoding="utf-8") as file:
        for case in yaml.safe_load_all(file):
            if "section" not in case:
                outcome = {"error": True} if case.get("error") or case.get("panic") else {"result": case["result"]}
                yield {"title": case["title"], "template": case["template"], "context": case["context"]} | outcome


def main():
    if sys.argv[1] == "specification":
        for case in specified(sys.argv[2]):
            print(json.dumps(case, ensure_ascii=False))
        return
    if sys.argv[1] == "random":
        generator = Generator(int(sys.argv[2]))
        cases = [generator.case() for _ in range(int(sys.argv[3]))]
    else:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jsone_cases.json")
        with open(path, encoding="utf-8") as file:
            cases = [(template, group.get("context", {})) for group in json.load(file) for template in group["templates"]]
    for template, context in cases:
        print(json.dumps(solve(template, context), ensure_ascii=False))


if __name__ == "__main__":
    main()
