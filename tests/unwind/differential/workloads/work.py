"""Pure python, json, re, sqlite3, zlib, sorting: what python programs do."""
import json
import random
import re
import sqlite3
import sys
import zlib


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Node:
    __slots__ = ("left", "right", "key")

    def __init__(self, key):
        self.key, self.left, self.right = key, None, None

    def insert(self, key):
        side = "left" if key < self.key else "right"
        child = getattr(self, side)
        if child is None:
            setattr(self, side, Node(key))
        else:
            child.insert(key)

    def __iter__(self):
        if self.left:
            yield from self.left
        yield self.key
        if self.right:
            yield from self.right


def database(rows):
    connection = sqlite3.connect(":memory:")
    connection.create_function("half", 1, lambda value: value // 2)
    connection.execute("create table t (a integer, b text)")
    connection.executemany("insert into t values (?, ?)", ((i, str(i % 97)) for i in range(rows)))
    connection.execute("create index i on t (b)")
    return connection.execute("select b, sum(half(a)) from t group by b order by 2").fetchall()


def once(rng):
    fib(19)
    root = Node(rng.random())
    for _ in range(2000):
        root.insert(rng.random())
    assert list(root) == sorted(root)
    text = json.dumps([{"key": i, "list": [str(i)] * 5, "x": rng.random()} for i in range(800)], indent=1)
    json.loads(text)
    re.findall(r'"(\w+)":\s*([\d.]+)', text)
    re.sub(r"(a|b|\d)+x?", lambda match: match.group(0)[::-1], text[:20000])
    zlib.decompress(zlib.compress(text.encode()))
    database(3000)
    sorted((str(i) for i in range(5000)), key=lambda word: (len(word), word[::-1]))


if __name__ == "__main__":
    generator = random.Random(7)
    for _ in range(int(sys.argv[1])):
        once(generator)
