"""Small defective programs to develop on: a module, tests that are shown, and tests that are held back."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """`module` goes to code.py's place, `shown` and `held` are bodies of test files that import from it."""

    name: str
    module: str
    shown: str
    held: str

    def files(self) -> dict[str, str]:
        return {
            f"{self.name}.py": dedent(self.module).lstrip(),
            f"tests/test_{self.name}.py": self._test(self.shown),
        }

    def held_back(self) -> dict[str, str]:
        return {f"tests/test_{self.name}_held.py": self._test(self.held)}

    def _test(self, body: str) -> str:
        return f"import pytest\nimport {self.name}\nfrom {self.name} import *\n\n" + dedent(body).lstrip()


PROGRAMS: tuple[Program, ...] = (
    Program(
        name="binsearch",
        module='''
        def find(items, wanted):
            """Index of wanted in sorted items, or -1."""
            low, high = 0, len(items) - 1
            while low < high:
                middle = (low + high) // 2
                if items[middle] == wanted:
                    return middle
                if items[middle] < wanted:
                    low = middle + 1
                else:
                    high = middle - 1
            return -1
        ''',
        shown="""
        def test_middle(): assert find([1, 3, 5], 3) == 1
        def test_last(): assert find([1, 3, 5], 5) == 2
        def test_absent(): assert find([1, 3, 5], 4) == -1
        """,
        held="""
        def test_single(): assert find([7], 7) == 0
        def test_empty(): assert find([], 7) == -1
        def test_all():
            for n in range(12):
                items = list(range(0, 2 * n, 2))
                for i, x in enumerate(items): assert find(items, x) == i
        """,
    ),
    Program(
        name="mean",
        module='''
        def mean(values):
            """Arithmetic mean; 0.0 of nothing."""
            total = 0
            for value in values:
                total += value
            return total / len(values)

        def spread(values):
            return max(values) - min(values)
        ''',
        shown="""
        def test_mean(): assert mean([1, 2, 3]) == 2
        def test_spread(): assert spread([1, 5]) == 4
        def test_empty(): assert mean([]) == 0.0
        """,
        held="""
        def test_more(): assert mean([2, 4]) == 3
        def test_zeros(): assert mean([0, 0]) == 0
        def test_negative(): assert mean([-1, -3]) == -2
        def test_tuple(): assert mean(()) == 0.0
        """,
    ),
    Program(
        name="slug",
        module="""
        import re

        def slug(title):
            words = re.findall(r"[A-Za-z0-9]+", title)
            return "_".join(words).lower()

        def shorten(text, width):
            if len(text) <= width:
                return text
            return text[:width - 3] + "..."
        """,
        shown="""
        def test_slug(): assert slug("Hello, World") == "hello-world"
        def test_one(): assert slug("Hello") == "hello"
        def test_short(): assert shorten("abcdefgh", 6) == "abc..."
        """,
        held="""
        def test_three(): assert slug("A b  C") == "a-b-c"
        def test_digits(): assert slug("Top 10!") == "top-10"
        """,
    ),
    Program(
        name="stack",
        module="""
        class Stack:
            def __init__(self, items=[]):
                self.items = items

            def push(self, item):
                self.items.append(item)

            def pop(self):
                if not self.items:
                    raise IndexError("pop from an empty stack")
                return self.items.pop()

            def __len__(self):
                return len(self.items)
        """,
        shown="""
        def test_push():
            s = Stack([1]); s.push(2); assert s.pop() == 2
        def test_fresh():
            a = Stack(); a.push(1)
            b = Stack(); assert len(b) == 0
        def test_empty():
            with pytest.raises(IndexError): Stack([]).pop()
        """,
        held="""
        def test_apart():
            a, b = Stack(), Stack(); a.push(1); b.push(2)
            assert a.items == [1] and b.items == [2]
        def test_given():
            s = Stack([1, 2]); assert len(s) == 2
        """,
    ),
    Program(
        name="wordcount",
        module='''
        def count(text):
            """How often each word stands in a text, case ignored."""
            counts = {}
            for word in text.split():
                word = word.strip(".,!?").lower()
                if word not in counts:
                    counts[word] = 0
                counts[word] = 1
            return counts

        def most_common(text):
            counts = count(text)
            return max(counts, key=counts.get)
        ''',
        shown="""
        def test_once(): assert count("a b") == {"a": 1, "b": 1}
        def test_twice(): assert count("a b A") == {"a": 2, "b": 1}
        def test_common(): assert most_common("x y y") == "y"
        """,
        held="""
        def test_three(): assert count("a. a, a!") == {"a": 3}
        def test_none(): assert count("") == {}
        """,
    ),
    Program(
        name="account",
        module="""
        class Account:
            def __init__(self, owner, balance=0):
                self.owner = owner
                self.balance = balance

            def deposit(self, amount):
                if amount <= 0:
                    raise ValueError("amount must be positive")
                self.balance += amount

            def withdraw(self, amount):
                self.balance -= amount

            def transfer(self, other, amount):
                self.withdraw(amount)
                other.deposit(amount)
        """,
        shown="""
        def test_deposit():
            a = Account("x"); a.deposit(5); assert a.balance == 5
        def test_withdraw():
            a = Account("x", 9); a.withdraw(4); assert a.balance == 5
        def test_all():
            a = Account("x", 9); a.withdraw(9); assert a.balance == 0
        def test_overdraw():
            a = Account("x", 3)
            with pytest.raises(ValueError): a.withdraw(4)
            assert a.balance == 3
        def test_transfer():
            a, b = Account("x", 5), Account("y"); a.transfer(b, 2)
            assert (a.balance, b.balance) == (3, 2)
        """,
        held="""
        def test_large():
            a = Account("x", 100); a.withdraw(60); assert a.balance == 40
            with pytest.raises(ValueError): a.withdraw(41)
        def test_transfer_fails():
            a, b = Account("x", 5), Account("y")
            with pytest.raises(ValueError): a.transfer(b, 6)
            assert b.balance == 0
        """,
    ),
    Program(
        name="flatten",
        module='''
        def flatten(nested):
            """All leaves of nested lists, in order."""
            flat = []
            for part in nested:
                if isinstance(part, list):
                    flat.append(flatten(part))
                else:
                    flat.append(part)
            return flat
        ''',
        shown="""
        def test_flat(): assert flatten([1, 2]) == [1, 2]
        def test_nested(): assert flatten([1, [2, 3]]) == [1, 2, 3]
        """,
        held="""
        def test_deep(): assert flatten([[1, [2]], [[[3]]]]) == [1, 2, 3]
        def test_empty(): assert flatten([[], [[]]]) == []
        """,
    ),
    Program(
        name="schedule",
        module='''
        def overlaps(a, b):
            """Whether two half-open intervals (start, end) share a point."""
            return a[0] <= b[1] and b[0] < a[1]

        def merge(intervals):
            merged = []
            for start, end in sorted(intervals):
                if merged and start <= merged[-1][1]:
                    merged[-1] = (merged[-1][0], max(merged[-1][1], end))
                else:
                    merged.append((start, end))
            return merged
        ''',
        shown="""
        def test_yes(): assert overlaps((1, 3), (2, 4))
        def test_no(): assert not overlaps((1, 2), (3, 4))
        def test_touch(): assert not overlaps((3, 4), (1, 3))
        def test_merge(): assert merge([(1, 2), (2, 3)]) == [(1, 3)]
        """,
        held="""
        def test_touch_other(): assert not overlaps((1, 3), (3, 4))
        def test_inside(): assert overlaps((1, 9), (2, 3)) and overlaps((2, 3), (1, 9))
        def test_far(): assert not overlaps((5, 6), (1, 2))
        """,
    ),
    Program(
        name="collatz",
        module='''
        def steps(n):
            """Steps of the Collatz sequence from n down to 1."""
            count = 0
            while n != 1:
                if n % 2 == 0:
                    n = n // 2
                else:
                    n = 3 * n - 1
                count += 1
            return count
        ''',
        shown="""
        def test_one(): assert steps(1) == 0
        def test_eight(): assert steps(8) == 3
        def test_five(): assert steps(5) == 5
        """,
        held="""
        def test_more(): assert [steps(n) for n in (2, 3, 6, 7, 27)] == [1, 7, 8, 16, 111]
        """,
    ),
    Program(
        name="queue_",
        module='''
        def drain(queue, limit):
            """Take up to limit items from the front of a list."""
            taken = []
            while queue and len(taken) < limit:
                item = queue[0]
                taken.append(item)
            return taken

        def rotate(items, n):
            n = n % len(items)
            return items[n:] + items[:n]
        ''',
        shown="""
        def test_drain():
            q = [1, 2, 3]; assert drain(q, 2) == [1, 2]; assert q == [3]
        def test_short():
            q = [1]; assert drain(q, 5) == [1]
        def test_rotate(): assert rotate([1, 2, 3], 1) == [2, 3, 1]
        """,
        held="""
        def test_zero():
            q = [1]; assert drain(q, 0) == [] and q == [1]
        def test_all():
            q = [3, 1, 2]; assert drain(q, 3) == [3, 1, 2] and q == []
        """,
    ),
    Program(
        name="config",
        module='''
        DEFAULTS = {"host": "localhost", "port": 8080, "debug": False}

        def load(overrides=None):
            """The defaults with overrides laid over them."""
            settings = DEFAULTS
            for key, value in (overrides or {}).items():
                settings[key] = value
            return settings

        def address(settings):
            return f"{settings['host']}:{settings['port']}"
        ''',
        shown="""
        def test_plain(): assert load()["port"] == 8080
        def test_override(): assert load({"port": 1})["port"] == 1
        def test_kept():
            load({"debug": True})
            assert load()["debug"] is False
        def test_address(): assert address({"host": "h", "port": 2}) == "h:2"
        """,
        held="""
        def test_defaults():
            load({"host": "x"}); assert config.DEFAULTS["host"] == "localhost"
        def test_new():
            assert load({"extra": 1})["extra"] == 1; assert "extra" not in config.DEFAULTS
        """,
    ),
    Program(
        name="roman",
        module="""
        VALUES = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
                  (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]

        def to_roman(number):
            text = ""
            for value, sign in VALUES:
                if number >= value:
                    text += sign
                    number -= value
            return text
        """,
        shown="""
        def test_five(): assert to_roman(5) == "V"
        def test_nine(): assert to_roman(9) == "IX"
        def test_three(): assert to_roman(3) == "III"
        """,
        held="""
        def test_many(): assert to_roman(3888) == "MMMDCCCLXXXVIII"
        def test_four(): assert to_roman(1994) == "MCMXCIV"
        """,
    ),
    Program(
        name="grades",
        module='''
        def grade(score):
            if score > 90:
                return "A"
            if score >= 80:
                return "B"
            if score >= 70:
                return "C"
            return "F"

        def best(students):
            """Names of the students sorted by score, best first."""
            return [name for name, score in sorted(students.items(), key=lambda item: item[1])]
        ''',
        shown="""
        def test_a(): assert grade(95) == "A"
        def test_b(): assert grade(80) == "B"
        def test_best(): assert best({"x": 1, "y": 3, "z": 2}) == ["y", "z", "x"]
        """,
        held="""
        def test_order(): assert best({"a": 5, "b": 9}) == ["b", "a"]
        def test_none(): assert best({}) == []
        """,
    ),
    Program(
        name="node",
        module="""
        class Node:
            def __init__(self, value, left=None, right=None):
                self.value = value
                self.left = left
                self.right = right

        def depth(node):
            if node is None:
                return 0
            return 1 + max(depth(node.left), depth(node.left))

        def inorder(node):
            if node.left:
                yield from inorder(node.left)
            yield node.value
            if node.right:
                yield from inorder(node.right)
        """,
        shown="""
        def test_leaf(): assert depth(Node(1)) == 1
        def test_left(): assert depth(Node(1, Node(2))) == 2
        def test_right(): assert depth(Node(1, None, Node(2))) == 2
        def test_order(): assert list(inorder(Node(2, Node(1), Node(3)))) == [1, 2, 3]
        """,
        held="""
        def test_chain(): assert depth(Node(1, None, Node(2, None, Node(3)))) == 3
        def test_mixed(): assert depth(Node(1, Node(2, None, Node(4)), Node(3))) == 3
        """,
    ),
    Program(
        name="parse_",
        module='''
        def parse_pairs(text):
            """"a=1;b=2" to {"a": 1, "b": 2}; parts without "=" are skipped."""
            pairs = {}
            for part in text.split(";"):
                key, value = part.split("=")
                pairs[key.strip()] = int(value)
            return pairs

        def parse_flag(text):
            return text.lower() in ("yes", "true", "1")
        ''',
        shown="""
        def test_two(): assert parse_pairs("a=1;b=2") == {"a": 1, "b": 2}
        def test_blank(): assert parse_pairs("a=1;") == {"a": 1}
        def test_flag(): assert parse_flag("Yes")
        """,
        held="""
        def test_noise(): assert parse_pairs("a=1;;b=2;x") == {"a": 1, "b": 2}
        def test_none(): assert parse_pairs("") == {}
        """,
    ),
    Program(
        name="shapes",
        module="""
        import math

        class Shape:
            def __init__(self, name):
                self.name = name

            def describe(self):
                return f"{self.name}: {self.area():.1f}"

        class Circle(Shape):
            def __init__(self, radius):
                self.radius = radius

            def area(self):
                return math.pi * self.radius ** 2

        class Square(Shape):
            def __init__(self, side):
                super().__init__("square")
                self.side = side

            def area(self):
                return self.side ** 2
        """,
        shown="""
        def test_square(): assert Square(2).describe() == "square: 4.0"
        def test_circle(): assert Circle(1).describe() == "circle: 3.1"
        def test_area(): assert round(Circle(2).area()) == 13
        """,
        held="""
        def test_name(): assert Circle(3).name == "circle"
        """,
    ),
    Program(
        name="matrix",
        module="""
        def transpose(rows):
            return [[row[i] for row in rows] for i in range(len(rows))]

        def identity(n):
            return [[1 if i == j else 0 for j in range(n)] for i in range(n)]

        def multiply(a, b):
            return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]
        """,
        shown="""
        def test_square(): assert transpose([[1, 2], [3, 4]]) == [[1, 3], [2, 4]]
        def test_wide(): assert transpose([[1, 2, 3]]) == [[1], [2], [3]]
        def test_identity(): assert identity(2) == [[1, 0], [0, 1]]
        """,
        held="""
        def test_tall(): assert transpose([[1], [2]]) == [[1, 2]]
        def test_other(): assert transpose([[1, 2, 3], [4, 5, 6]]) == [[1, 4], [2, 5], [3, 6]]
        """,
    ),
    Program(
        name="retry",
        module='''
        class Flaky(Exception):
            pass

        def retry(action, times):
            """Call action until it succeeds, at most that many times; the last error is raised."""
            for attempt in range(times):
                try:
                    return action()
                except Flaky:
                    if attempt == times:
                        raise
            return None
        ''',
        shown="""
        def failing(n):
            left = [n]
            def action():
                if left[0]:
                    left[0] -= 1
                    raise Flaky()
                return "ok"
            return action
        def test_ok(): assert retry(failing(0), 1) == "ok"
        def test_second(): assert retry(failing(1), 2) == "ok"
        def test_gives_up():
            with pytest.raises(Flaky): retry(failing(3), 3)
        """,
        held="""
        def test_once():
            calls = []
            def action():
                calls.append(1); raise Flaky()
            with pytest.raises(Flaky): retry(action, 2)
            assert len(calls) == 2
        """,
    ),
    Program(
        name="cart",
        module='''
        class Cart:
            def __init__(self):
                self.lines = []

            def add(self, name, price, quantity=1):
                self.lines.append((name, price, quantity))

            def total(self, discount=0):
                """Sum of all lines, less a discount in per cent."""
                total = 0
                for name, price, quantity in self.lines:
                    total += price * quantity
                    total -= total * discount / 100
                return total

            def names(self):
                return sorted({name for name, _, _ in self.lines})
        ''',
        shown="""
        def cart():
            c = Cart(); c.add("a", 10, 2); c.add("b", 5)
            return c
        def test_total(): assert cart().total() == 25
        def test_discount(): assert cart().total(20) == 20
        def test_names(): assert cart().names() == ["a", "b"]
        """,
        held="""
        def test_three():
            c = Cart()
            for i in range(4): c.add(str(i), 100)
            assert c.total(10) == 360
        def test_none(): assert Cart().total(50) == 0
        """,
    ),
    Program(
        name="dates",
        module="""
        DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

        def is_leap(year):
            return year % 4 == 0 and year % 100 != 0

        def days_in(year, month):
            if month == 2 and is_leap(year):
                return 29
            return DAYS[month - 1]
        """,
        shown="""
        def test_plain(): assert not is_leap(2023)
        def test_leap(): assert is_leap(2024)
        def test_century(): assert not is_leap(1900)
        def test_400(): assert is_leap(2000)
        def test_days(): assert days_in(2024, 2) == 29
        """,
        held="""
        def test_more(): assert is_leap(1600) and is_leap(2400) and not is_leap(2100) and is_leap(1996)
        """,
    ),
    Program(
        name="callbacks",
        module='''
        def multipliers(factors):
            """One function for each factor."""
            made = []
            for factor in factors:
                made.append(lambda x: x * factor)
            return made

        def compose(*functions):
            def composed(x):
                for function in reversed(functions):
                    x = function(x)
                return x
            return composed
        ''',
        shown="""
        def test_two():
            double, triple = multipliers([2, 3])
            assert double(5) == 10 and triple(5) == 15
        def test_compose(): assert compose(lambda x: x + 1, lambda x: x * 2)(3) == 7
        """,
        held="""
        def test_many(): assert [f(1) for f in multipliers([4, 5, 6])] == [4, 5, 6]
        """,
    ),
    Program(
        name="primes",
        module='''
        def sieve(limit):
            """All primes up to and including limit."""
            marked = [True] * (limit + 1)
            primes = []
            for n in range(2, limit):
                if marked[n]:
                    primes.append(n)
                    for multiple in range(n * n, limit + 1, n):
                        marked[multiple] = False
            return primes
        ''',
        shown="""
        def test_ten(): assert sieve(10) == [2, 3, 5, 7]
        def test_seven(): assert sieve(7) == [2, 3, 5, 7]
        """,
        held="""
        def test_two(): assert sieve(2) == [2]
        def test_one(): assert sieve(1) == []
        def test_thirty(): assert sieve(31)[-1] == 31
        """,
    ),
    Program(
        name="cache",
        module='''
        class Cache:
            """Keeps the most recently used entries."""

            def __init__(self, size):
                self.size = size
                self.entries = {}

            def get(self, key):
                if key not in self.entries:
                    return None
                value = self.entries.pop(key)
                return value

            def put(self, key, value):
                self.entries.pop(key, None)
                self.entries[key] = value
                if len(self.entries) > self.size:
                    oldest = next(iter(self.entries))
                    del self.entries[oldest]
        ''',
        shown="""
        def test_get():
            c = Cache(2); c.put("a", 1); assert c.get("a") == 1
        def test_again():
            c = Cache(2); c.put("a", 1); c.get("a"); assert c.get("a") == 1
        def test_evict():
            c = Cache(2); c.put("a", 1); c.put("b", 2); c.get("a"); c.put("c", 3)
            assert c.get("b") is None and c.get("a") == 1
        """,
        held="""
        def test_order():
            c = Cache(2); c.put(1, 1); c.put(2, 2); c.put(3, 3)
            assert c.get(1) is None and c.get(2) == 2 and c.get(3) == 3
        def test_none(): assert Cache(1).get("x") is None
        """,
    ),
    Program(
        name="textwrap_",
        module='''
        def wrap(text, width):
            """Lines of at most width characters, broken at spaces."""
            lines, line = [], ""
            for word in text.split():
                if line and len(line) + 1 + len(word) > width:
                    lines.append(line)
                    line = word
                else:
                    line = f"{line} {word}" if line else word
            return lines
        ''',
        shown="""
        def test_one(): assert wrap("a b c", 10) == ["a b c"]
        def test_two(): assert wrap("aa bb cc", 5) == ["aa bb", "cc"]
        """,
        held="""
        def test_three(): assert wrap("aa bb cc", 2) == ["aa", "bb", "cc"]
        def test_word(): assert wrap("abc", 2) == ["abc"]
        """,
    ),
    Program(
        name="inventory",
        module='''
        class Inventory:
            def __init__(self):
                self.stock = {}

            def add(self, name, count):
                self.stock[name] = self.stock.get(name, 0) + count

            def remove(self, name, count):
                """Take out; unknown names count as 0, and nothing falls below 0."""
                self.stock[name] = max(0, self.stock[name] - count)

            def total(self):
                return sum(self.stock.values())
        ''',
        shown="""
        def test_add():
            i = Inventory(); i.add("a", 2); i.add("a", 3); assert i.stock == {"a": 5}
        def test_remove():
            i = Inventory(); i.add("a", 2); i.remove("a", 1); assert i.total() == 1
        def test_unknown():
            i = Inventory(); i.remove("b", 1); assert i.total() == 0
        """,
        held="""
        def test_zero():
            i = Inventory(); i.remove("b", 3); i.add("b", 2); assert i.stock["b"] == 2
        def test_below():
            i = Inventory(); i.add("a", 1); i.remove("a", 5); assert i.stock["a"] == 0
        """,
    ),
    Program(
        name="vectors",
        module="""
        class Vector:
            def __init__(self, x, y):
                self.x = x
                self.y = y

            def __add__(self, other):
                return Vector(self.x + other.x, self.y + other.y)

            def __sub__(self, other):
                return Vector(other.x - self.x, other.y - self.y)

            def __eq__(self, other):
                return self.x == other.x and self.y == other.y

            def scaled(self, factor):
                Vector(self.x * factor, self.y * factor)
        """,
        shown="""
        def test_add(): assert Vector(1, 2) + Vector(3, 4) == Vector(4, 6)
        def test_scaled(): assert Vector(1, 2).scaled(3) == Vector(3, 6)
        """,
        held="""
        def test_zero(): assert Vector(1, 2).scaled(0) == Vector(0, 0)
        """,
    ),
    Program(
        name="twice",
        module="""
        def first_word(text):
            return text.split()[1]

        def last_word(text):
            return text.split()[0]

        def initials(text):
            return first_word(text)[0] + last_word(text)[0]
        """,
        shown="""
        def test_first(): assert first_word("one two three") == "one"
        def test_last(): assert last_word("one two three") == "three"
        def test_initials(): assert initials("one two three") == "ot"
        """,
        held="""
        def test_single(): assert first_word("x") == "x" and last_word("x") == "x"
        """,
    ),
)
