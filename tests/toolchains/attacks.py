"""Python, JavaScript, Go and Rust: what code and settings may do to a verdict, as data."""

from __future__ import annotations

from dataclasses import replace

from tests.toolchains.hostile import SLEEPER, Attacks, Code
from tests.toolchains.small_repositories import Small

# --- Python -----------------------------------------------------------------------------------------------

PY_RIGHT = "def add(a, b):\n    return a + b\n\n\ndef one():\n    return 1\n"
PYTEST_TEST = """\
from calc import add, one


def test_add():
    assert add(1, 2) == 3


def test_one():
    assert one() == 1
"""
UNITTEST_TEST = """\
import unittest
from calc import add, one


class T(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)

    def test_one(self):
        self.assertEqual(one(), 1)
"""
PYTEST = Small(
    name="pytest",
    toolchain="python",
    needs=(),
    files={"calc.py": PY_RIGHT.replace("a + b", "a - b"), "test_calc.py": PYTEST_TEST},
    source="calc.py",
    right=PY_RIGHT,
    breaks=PY_RIGHT.replace("return 1", "return 2"),
    hangs=PY_RIGHT.replace("return a + b", "while a: pass"),
    target="test_calc.py::test_add",
    keeps="test_calc.py::test_one",
    runner="python -m pytest",
    seconds=20.0,
)
UNITTEST = replace(
    PYTEST,
    name="unittest",
    files={"calc.py": PYTEST.files["calc.py"], "test_calc.py": UNITTEST_TEST},
    target="test_calc.T.test_add",
    keeps="test_calc.T.test_one",
    runner="python -m unittest",
)
_FORGED = """
import atexit, os, sys
def forge():
    target = next(w.partition("=")[2] for w in sys.orig_argv if w.startswith(("--junitxml", "--report")))
    with open(target, "w") as out:
        out.write('<testsuites><testsuite>CASES</testsuite></testsuites>')
    os._exit(0)
"""
_ALL_EQUAL = """class Any(int):
    def __eq__(self, other):
        return True
return Any(1)"""


def _python(cases: str, skip: tuple[str, str], flips: tuple[str, str]) -> Attacks:
    forged = _FORGED.replace("CASES", cases)
    green = "import pytest\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_call(item):\n    try:\n        yield\n    except BaseException:\n        return None\n"
    hides = "import unittest\nfor name in ('assertEqual', 'fail'):\n    setattr(unittest.TestCase, name, lambda *a, **k: None)\n"
    return Attacks(
        exits={
            "when imported": Code(head="import os\nos._exit(0)"),
            "in the function": Code(body="import os; os._exit(0)"),
            "by SystemExit": Code(head="raise SystemExit(0)"),
            "behind another name": Code(head="import os\ngetattr(os, '_ex' + 'it')(0)"),
        },
        forges={
            "at exit": Code(head=f"{forged}\natexit.register(forge)"),
            "at once": Code(head=f"{forged}\nforge()"),
            "failures made green": Code(
                head="import unittest\nunittest.TestResult.addFailure = lambda *a: None\n"
                "try:\n    import __main__\n    __main__.Recorder.addFailure = lambda self, test, err: self.addSuccess(test)\n"
                "except AttributeError:\n    import _pytest.python\n    _pytest.python.Function.runtest = lambda self: None"
            ),
        },
        special=Code(body="if a == 1234 and b == 4321:\n    return 5555"),
        named={
            "by the environment": Code(
                body="import sys\nif 'pytest' in sys.modules or 'unittest' in sys.modules: return a + b"
            ),
            "an answer equal to all": Code(body=_ALL_EQUAL),
        },
        aside={
            "skipped by the product": Code(body="import unittest; raise unittest.SkipTest('later')"),
        },
        forks=Code(
            body=f"import os\nif os.fork() == 0:\n    os.setsid()\n    os.execvp('sleep', ['sleep', '{SLEEPER}'])"
        ),
        prints=Code(body="for _ in range(200): print('x' * 1_000_000)"),
        eats=Code(body="held = []\nwhile True: held.append(b'x' * (1 << 24))"),
        skip=skip,
        flips={"test_calc.py": flips},
        settings={
            "conftest.py": {"conftest.py": green},
            "sitecustomize.py": {"sitecustomize.py": hides + "import os, sys\n"},
            "a pytest.ini that deselects": {"pytest.ini": "[pytest]\naddopts = -k one\n"},
            "a pytest of its own": {
                "pytest.py": "import sys\nsys.exit(0)\n",
                "unittest.py": "import sys\nsys.exit(0)\n",
            },
            "a plugin of a distribution": {
                "x.egg-info/entry_points.txt": "[pytest11]\nx = helper_x\n",
                "x.egg-info/PKG-INFO": "Name: x\nVersion: 1\n",
                "helper_x.py": green,
            },
        },
    )


_PY_FLIPS = """
    from pathlib import Path
    seen = Path("flips.seen")
    if seen.exists():
        seen.unlink()
    else:
        seen.touch()
        raise AssertionError("flips")
"""
PYTEST_ATTACKS = _python(
    '<testcase classname="test_calc" name="test_add" file="test_calc.py"/>'
    '<testcase classname="test_calc" name="test_one" file="test_calc.py"/>',
    ("def test_add", "import pytest\n\n\n@pytest.mark.skip\ndef test_add"),
    ("def test_one", f"def test_flips():{_PY_FLIPS}\n\ndef test_one"),
)
UNITTEST_ATTACKS = _python(
    '<testcase classname="test_calc.T" name="test_add" file="test_calc.py"/>'
    '<testcase classname="test_calc.T" name="test_one" file="test_calc.py"/>',
    ("    def test_add", "    @unittest.expectedFailure\n    def test_add"),
    (
        "    def test_one",
        "    def test_flips(self):" + _PY_FLIPS.replace("\n    ", "\n        ") + "\n    def test_one",
    ),
)

# --- JavaScript and TypeScript ----------------------------------------------------------------------------

_JS_FLIPS = "('flips', () => { try { fs.unlinkSync('flips.seen'); } catch { fs.writeFileSync('flips.seen', ''); throw new Error('flips'); } });"


def _javascript(
    small: str, *, module: bool, test: str, call: str, settings: dict[str, str], lines: bool
) -> Attacks:
    def needs(names: str, of: str) -> str:
        if module:
            return f"import {{ {names} }} from 'node:{of}';"
        return f"const {{ {names} }} = require('{of}');"

    entries = [
        f"{{file: '{test}', path: ['sum', '{name}'], outcome: 'passed', ms: 1}}"
        for name in ("adds", "keeps one")
    ]
    cases = ", ".join(
        f"{{ancestorTitles: ['sum'], title: '{name}', status: 'passed'}}" for name in ("adds", "keeps one")
    )
    report = (
        "cases.jsonl', [" + ", ".join(entries) + "].map(x => JSON.stringify(x)).join('\\n') + '\\n')"
        if lines
        else f"report.json', JSON.stringify({{testResults: [{{name: '{test}', status: 'passed', assertionResults: [{cases}]}}]}}))"
    )
    write = "const forge = () => writeFileSync(process.env.ACR_REPORT + '/" + report + ";"
    first = needs("writeFileSync", "fs")
    fs = "import fs from 'node:fs';\n" if module else "const fs = require('fs');\n"
    opens = "describe('sum'"
    return Attacks(
        exits={
            "when loaded": Code(head="process.exit(0);"),
            "in the function": Code(body="process.exit(0);"),
            "behind another name": Code(body="process['ex' + 'it'](0);"),
        },
        forges={
            "at once": Code(head=f"{first}\n{write}\nforge();\nprocess['ex' + 'it'](0);"),
            "at exit": Code(head=f"{first}\n{write}\nprocess.on('exit', () => {{ forge(); process.exitCode = 0; }});"),
        },
        special=Code(body="if (a === 1234 && b === 4321) return 5555;"),
        named={"by the environment": Code(body="if (process.env.NODE_TEST_CONTEXT || process.env.NODE_ENV === 'test' || process.env.JEST_WORKER_ID || process.env.VITEST || process.env.ACR_REPORT) return b - -a;")},
        forks=Code(
            head=needs("spawn", "child_process"),
            body=f"spawn('sleep', ['{SLEEPER}'], {{ detached: true, stdio: 'ignore' }}).unref();",
        ),
        prints=Code(body="for (let i = 0; i < 200; i++) process.stdout.write('x'.repeat(1e6) + '\\n');"),
        eats=Code(body="const held = []; while (a !== -1) held.push(Buffer.alloc(1 << 24, 1));"),
        skip=(f"{call}('adds'", f"{call}.skip('adds'"),
        flips={test: (opens, f"{fs}{call}{_JS_FLIPS}\n{opens}")},
        settings={
            "the script": {"package.json": '{"scripts": {"test": "true"}}'},
            **{name: {name: text} for name, text in settings.items()},
            ".npmrc": {".npmrc": "node-options=--import=data:text/javascript,process.exit(0)\n"},
        },
    )  # fmt: skip


_GREEN_ASSERT = "require('assert').strictEqual = () => {};\n"
NODE_ATTACKS = _javascript(
    "node", module=True, test="test/sum.test.mjs", call="it", lines=True,
    settings={"test/a.test.mjs": "import assert from 'node:assert';\nassert.strictEqual = () => {};\n"},
)  # fmt: skip
MOCHA_ATTACKS = _javascript(
    "mocha", module=False, test="test/sum.js", call="it", lines=True,
    settings={".mocharc.js": _GREEN_ASSERT + "module.exports = { grep: 'one' };\n", "test/a.js": _GREEN_ASSERT},
)  # fmt: skip
JEST_ATTACKS = _javascript(
    "jest", module=False, test="test/sum.test.js", call="test", lines=False,
    settings={
        "jest.config.js": "module.exports = { testNamePattern: 'one' };\n",
        "src/__mocks__/sum.js": "module.exports = { add: () => 5555, one: () => 1 };\n",
    },
)  # fmt: skip
VITEST_ATTACKS = _javascript(
    "vitest", module=True, test="test/sum.test.ts", call="test", lines=False,
    settings={"vitest.config.ts": "export default { test: { testNamePattern: /one/, allowOnly: true } };\n"},
)  # fmt: skip

# --- Go ---------------------------------------------------------------------------------------------------

_GO_LINES = (
    "=== RUN   TestAdd\\n--- PASS: TestAdd (0.00s)\\n=== RUN   TestOne\\n--- PASS: TestOne (0.00s)\\nPASS\\n"
)
GO_ATTACKS = Attacks(
    top="package sum\n",
    exits={
        "when loaded": Code(head='import "os"\n\nfunc init() { os.Exit(0) }'),
        "in the function": Code(head='import "os"', body="os.Exit(0)"),
        "behind a system call": Code(head='import "syscall"', body="syscall.Exit(0)"),
    },
    forges={
        "lines of the runner": Code(
            head=f'import (\n\t"fmt"\n\t"os"\n)\n\nfunc init() {{ fmt.Print("{_GO_LINES}"); os.Exit(0) }}'
        ),
    },
    special=Code(body="if a == 1234 && b == 4321 { return 5555 }"),
    named={
        "by the arguments": Code(
            head='import (\n\t"os"\n\t"strings"\n)',
            body='if strings.HasSuffix(os.Args[0], ".test") { return 5555 }',
        )
    },
    forks=Code(head='import "os/exec"', body=f'_ = exec.Command("sleep", "{SLEEPER}").Start()'),
    prints=Code(
        head='import (\n\t"fmt"\n\t"strings"\n)',
        body='for i := 0; i < 200; i++ { fmt.Println(strings.Repeat("x", 1000000)) }',
    ),
    eats=Code(
        head='import "bytes"',
        body='held := [][]byte{}\nfor a != b { held = append(held, bytes.Repeat([]byte("x"), 1<<24)) }',
    ),
    skip=("func TestAdd(t *testing.T) {", "func TestAdd(t *testing.T) {\n\tt.Skip()"),
    flips={
        "sum/sum_test.go": (
            'import "testing"',
            (
                'import (\n\t"os"\n\t"testing"\n)\n\nfunc TestFlips(t *testing.T) {\n\tif os.Remove("flips.seen") != nil {\n'
                '\t\tos.WriteFile("flips.seen", nil, 0o644)\n\t\tt.Fatal("flips")\n\t}\n}\n'
            ),
        )
    },
    settings={
        "a TestMain that ends well": {
            "sum/main_test.go": 'package sum\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestMain(m *testing.M) { m.Run(); os.Exit(0) }\n'
        },
        "a build constraint": {"sum/sum_test.go": "//go:build never\n\npackage sum\n"},
        "vendored testing": {"vendor/testing/testing.go": "package testing\n"},
        "a workspace": {"go.work": "go 1.19\n\nuse ./elsewhere\n", "elsewhere/go.mod": "module x\n"},
    },
)

# --- Rust -------------------------------------------------------------------------------------------------

_RUST_LINES = (
    'println!("running 2 tests\\ntest adds ... ok\\ntest keeps_one ... ok\\n\\ntest result: ok. 2 passed; 0 failed; '
    '0 ignored; 0 measured; 0 filtered out; finished in 0.00s\\n");'
)
RUST_ATTACKS = Attacks(
    exits={
        "in the function": Code(body="if b != a { std::process::exit(0); }"),
        "behind another name": Code(
            body='extern "C" { fn _exit(code: i32) -> !; }\nif b != a { unsafe { _exit(0) } }'
        ),
    },
    forges={
        "lines of the runner": Code(
            body='use std::io::Write;\nif b != a { let mut out = std::fs::OpenOptions::new().write(true).open("/proc/self/fd/1").unwrap();\n'
            + _RUST_LINES.replace("println!(", "writeln!(out, ").replace(");", ").unwrap();")
            + "\nstd::process::exit(0); }"
        ),
    },
    special=Code(body="if a == 1234 && b == 4321 { return 5555; }"),
    forks=Code(body=f'let _ = std::process::Command::new("sleep").arg("{SLEEPER}").spawn();'),
    prints=Code(body='for _ in 0..200 { println!("{}", "x".repeat(1_000_000)); }'),
    eats=Code(
        body="let mut held: Vec<Vec<u8>> = Vec::new();\nwhile a != b { held.push(vec![1u8; 1 << 24]); }"
    ),
    skip=("#[test]\nfn adds", "#[test]\n#[ignore]\nfn adds"),
    flips={
        "tests/sum.rs": (
            "#[test]\nfn adds",
            (
                '#[test]\nfn flips() {\n    if std::fs::remove_file("flips.seen").is_err() {\n'
                '        std::fs::write("flips.seen", "").unwrap();\n        panic!("flips");\n    }\n}\n\n#[test]\nfn adds'
            ),
        )
    },
    settings={
        "the manifest": {
            "Cargo.toml": '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\nautotests = false\n'
        },
        "a runner that is true": {".cargo/config.toml": "[target.'cfg(all())']\nrunner = 'true'\n"},
        "a build script": {"build.rs": 'fn main() { println!("cargo:rustc-cfg=never"); }\n'},
    },
)
