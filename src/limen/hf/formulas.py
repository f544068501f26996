"""Formulas over the fields of a config, as weights.txt writes them: `h*d`, `maybe(n_inner) or 4*w`.

A word is a letter, which stands for another formula, or a field.  In a size a field must be a positive
integer; where a yes or no is wanted (after `not`, in a condition) it is what it says.  The formulas are
Limen's own: a config gives values, never a formula.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache, partial
from math import ceil
from types import CodeType
from typing import Any

from limen.hf import layer_sizes
from limen.hf.fields import Fields

_PLAIN = {"int": int, "len": len, "list": list, "max": max, "range": range, "type": type}
_PLAIN |= {"rounded": layer_sizes.rounded}
# Functions of layer_sizes, which know the fields and the layer.
_OF_LAYER = ("block_mlp", "listed", "ngram_rows", "numbers_in", "of_block", "of_layer", "typed")
_READERS = ("count", "flag", "given", "half", "inside", "maybe", "named", "number", "rank", "share")
_NAMES = (*_READERS, "numbers_in", "of_block", "of_layer")  # take the names of fields
FUNCTIONS = frozenset((*_PLAIN, *_OF_LAYER, *_READERS))


class Scope(dict[str, Any]):
    """The words known at one place of a model: what is known of its layer, the letters, then the fields.

    `touched` remembers whether a formula asked for the place of the layer: if none did, it says the same of
    every layer of which the same is known.
    """

    def __init__(self, fields: Fields, letters: Mapping[str, str], known: Mapping[str, Any]) -> None:
        super().__init__({word: value for word, value in known.items() if word != "i"})
        self.fields, self.letters, self.known = fields, letters, known
        self.touched: set[str] = set()

    def __missing__(self, word: str) -> Any:
        value: Any
        if word == "i":
            self.touched.add(word)
            return self.known[word]
        if word in _READERS:
            value = getattr(self, f"_{word}")
        elif word in _OF_LAYER:
            value = partial(getattr(layer_sizes, word), self.fields, self["i"])
        elif word in self.letters:
            value = self.value(self.letters[word])
        else:
            value = _PLAIN[word] if word in _PLAIN else self.fields.integer(word)
        self[word] = value
        return value

    def within(self, letters: Mapping[str, str]) -> Scope:
        """The same place with letters of a part, which come before what is known."""
        known = {word: value for word, value in self.known.items() if word not in letters}
        inner = Scope(self.fields, {**self.letters, **letters}, known)
        inner.touched = self.touched
        return inner

    def where(self, j: Any) -> Scope:
        """The same place with a value for j."""
        inner = Scope(self.fields, self.letters, {**self.known, "j": j})
        inner.touched = self.touched
        return inner

    def value(self, formula: str) -> Any:
        return eval(_compiled(formula, False), {"__builtins__": {}}, self)

    def holds(self, condition: str) -> bool:
        return not condition or bool(eval(_compiled(condition, True), {"__builtins__": {}}, self))

    def size(self, formula: str) -> int:
        value = self.value(formula)
        if type(value) is not int or value < 0:
            raise TypeError(f"{formula} is {value!r}, not a size")
        return value

    def text(self, template: str) -> str:
        return str(self.value(f"f{template!r}")) if "{" in template else template

    def _flag(self, word: str) -> bool:
        """A letter that stands for a field is that field; one that the type's class has not says nothing."""
        if word in self.known:
            return bool(self[word])
        if word in self.letters:
            formula = self.letters[word]
            return self._flag(formula) if formula.isidentifier() else bool(self[word])
        return bool(self.fields[word]) if self.fields.heeds(word) else False

    def _count(self, field: str) -> int:
        return self.fields.integer(field, 0)

    def _half(self, field: str) -> int:
        return self.fields.share_of(field, 2)

    def _inside(self, box: str, field: str) -> int:
        return self.fields.nested(box).size(field) or 0

    def _maybe(self, field: str) -> int:
        return self.fields.either(field, 0)

    def _named(self, field: str) -> list[int]:
        return [] if self.fields[field] is None else self.fields.integers(field)

    def _number(self, field: str) -> float:
        return self.fields.number(field)

    def _rank(self, field: str) -> int:
        """A sixteenth of the width where nothing is said."""
        if self.fields[field] in (None, "auto"):
            return ceil(self.fields.integer("hidden_size") / 16)
        return self.fields.integer(field)

    def _given(self, field: str, inside: str = "") -> Any:
        return self.fields.nested(field)[inside] if inside else self.fields[field]

    def _share(self, parts: str, of: str) -> int:
        return self.fields.share(parts, of)


class _Words(ast.NodeTransformer):
    """Gives readers the names of fields, and asks for a yes or no where one is wanted."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id in _NAMES:
            node.args = [ast.Constant(a.id) if isinstance(a, ast.Name) else a for a in node.args]
            return node
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        *tested, last = node.values
        node.values = [*(self.truth(value) for value in tested), self.visit(last)]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        node.operand = self.truth(node.operand) if isinstance(node.op, ast.Not) else self.visit(node.operand)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test, node.body, node.orelse = (
            self.truth(node.test),
            self.visit(node.body),
            self.visit(node.orelse),
        )
        return node

    def truth(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return ast.Call(ast.Name("flag", ast.Load()), [ast.Constant(node.id)], [])
        if isinstance(node, ast.BoolOp):
            node.values = [self.truth(value) for value in node.values]
            return node
        return self.visit(node)


@cache
def _compiled(formula: str, truth: bool) -> CodeType:
    tree, words = ast.parse(formula.strip(), "weights.txt", "eval"), _Words()
    tree.body = words.truth(tree.body) if truth else words.visit(tree.body)
    return compile(ast.fix_missing_locations(tree), "weights.txt", "eval")
