"""One small repository a way of testing: a defect, a right patch, one that breaks, one that hangs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

Files = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Small:
    """A repository whose tests `target` fail and `keeps` pass. The patches replace the file `source`."""

    name: str
    toolchain: str  # as it is named among the built-in ones
    needs: tuple[str, ...]  # programs
    files: Files
    source: str
    right: str
    breaks: str  # mends the target, and `keeps` fails
    hangs: str
    target: str
    keeps: str
    runner: str  # what the command that is shown begins with
    cheat: Files = field(default_factory=dict)  # edits to tests and their configuration, all of them undone
    seconds: float = 240.0  # within which all but the hanging patch end
    hang_seconds: float = 3.0
    debian_maven: bool = False  # whether Debian's packages for Maven stand for what was downloaded before
    setup: bool = False  # whether anything has to be installed


JS_RIGHT = "function add(a, b) {\n  return a + b;\n}\nfunction one() {\n  return 1;\n}\n"
JS_DEFECT = JS_RIGHT.replace("a + b", "a - b")
JS_BREAKS = JS_RIGHT.replace("return 1", "return 2")
JS_HANGS = JS_RIGHT.replace("return a + b", "for (;;) {}")
COMMONJS = "module.exports = { add, one };\n"
ESM = "export { add, one };\n"

JEST_TEST = """\
const { add, one } = require('../src/sum');

describe('sum', () => {
  test('adds', () => {
    expect(add(1, 2)).toBe(3);
  });
  test('keeps one', () => {
    expect(one()).toBe(1);
  });
});
"""
VITEST_TEST = JEST_TEST.replace(
    "const { add, one } = require('../src/sum');",
    "import { describe, expect, test } from 'vitest';\nimport { add, one } from '../src/sum';",
)
MOCHA_TEST = """\
const assert = require('assert');
const { add, one } = require('../src/sum');

describe('sum', function () {
  it('adds', function () {
    assert.strictEqual(add(1, 2), 3);
  });
  it('keeps one', function () {
    assert.strictEqual(one(), 1);
  });
});
"""
NODE_TEST = """\
import assert from 'node:assert';
import { describe, it } from 'node:test';
import { add, one } from '../src/sum.mjs';

describe('sum', () => {
  it('adds', () => {
    assert.strictEqual(add(1, 2), 3);
  });
  it('keeps one', () => {
    assert.strictEqual(one(), 1);
  });
});
"""
TS_TYPES = ("add(a, b)", "add(a: number, b: number): number"), ("one()", "one(): number")


def typed(text: str) -> str:
    for plain, with_types in TS_TYPES:
        text = text.replace(f"function {plain}", f"function {with_types}")
    return text


def _javascript(
    name: str, *, source: str, end: str, test: str, test_file: str, package: str, **more: object
) -> Small:
    make = typed if source.endswith(".ts") else str
    return Small(
        name=name,
        files={"package.json": package, source: make(JS_DEFECT) + end, test_file: test},
        source=source,
        right=make(JS_RIGHT) + end,
        breaks=make(JS_BREAKS) + end,
        hangs=make(JS_HANGS) + end,
        target=f"{test_file} > sum > adds",
        keeps=f"{test_file} > sum > keeps one",
        cheat={test_file: test.replace("toBe(3)", "toBe(-1)").replace("2), 3)", "2), -1)")},
        **{"toolchain": "javascript", "needs": ("node",), "runner": "npm test", **more},  # type: ignore[arg-type]
    )


JAVASCRIPT = [
    _javascript(
        "node", source="src/sum.mjs", end=ESM, test=NODE_TEST, test_file="test/sum.test.mjs",
        package='{"scripts": {"test": "node --test"}}',
    ),
    _javascript(
        "mocha", source="src/sum.js", end=COMMONJS, test=MOCHA_TEST, test_file="test/sum.js",
        package='{"scripts": {"test": "nyc mocha --watch"}, "devDependencies": {"mocha": "^10"}}', setup=True,
    ),
    _javascript(
        "jest", source="src/sum.js", end=COMMONJS, test=JEST_TEST, test_file="test/sum.test.js",
        package='{"scripts": {"lint": "false", "test": "npm run lint && jest --coverage --watchAll"},'
        ' "jest": {"transform": {}}, "devDependencies": {"jest": "^29"}}',
        setup=True,
    ),
    _javascript(
        "vitest", source="src/sum.ts", end=ESM, test=VITEST_TEST, test_file="test/sum.test.ts",
        package='{"type": "module", "scripts": {"test": "vitest"},'
        ' "devDependencies": {"vitest": "^3", "vite": "^6"}}',
        toolchain="typescript", setup=True,
    ),
]  # fmt: skip

GO_RIGHT = "package sum\n\nfunc Add(a, b int) int { return a + b }\n\nfunc One() int { return 1 }\n"
GO_TEST = """\
package sum

import "testing"

func TestAdd(t *testing.T) {
\tif got := Add(1, 2); got != 3 {
\t\tt.Errorf("Add(1, 2) = %d, want 3", got)
\t}
}

func TestOne(t *testing.T) {
\tif One() != 1 {
\t\tt.Fatal("not one")
\t}
}
"""
GO = Small(
    name="go",
    toolchain="go",
    needs=("go",),
    files={
        "go.mod": "module example.com/small\n\ngo 1.19\n",
        "sum/sum.go": GO_RIGHT.replace("a + b", "a - b"),
        "sum/sum_test.go": GO_TEST,
    },
    source="sum/sum.go",
    right=GO_RIGHT,
    breaks=GO_RIGHT.replace("return 1", "return 2"),
    hangs=GO_RIGHT.replace("return a + b", "select {}"),
    target="example.com/small/sum.TestAdd",
    keeps="example.com/small/sum.TestOne",
    runner="go test ./...",
    cheat={"sum/sum_test.go": GO_TEST.replace("!= 3", "!= -1"), "go.mod": "module example.com/other\n"},
)

RUST_RIGHT = """\
/// Adds.
///
/// ```
/// assert_eq!(small::one(), 1);
/// ```
pub fn add(a: i32, b: i32) -> i32 {
    a + b
}

pub fn one() -> i32 {
    1
}
"""
RUST_TEST = """\
use small::{add, one};

#[test]
fn adds() {
    assert_eq!(add(1, 2), 3);
}

#[test]
fn keeps_one() {
    assert_eq!(one(), 1);
}
"""
RUST = Small(
    name="rust",
    toolchain="rust",
    needs=("cargo",),
    files={
        "Cargo.toml": '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": RUST_RIGHT.replace("a + b", "a - b"),
        "tests/sum.rs": RUST_TEST,
    },
    source="src/lib.rs",
    right=RUST_RIGHT,
    breaks=RUST_RIGHT.replace("\n    1\n", "\n    2\n").replace("one(), 1", "one(), 2"),
    hangs=RUST_RIGHT.replace("    a + b", "    loop { std::hint::spin_loop(); if a == -b { return 0; } }"),
    target="sum::adds",
    keeps="sum::keeps_one",
    runner="cargo test",
    cheat={"tests/sum.rs": RUST_TEST.replace("2), 3", "2), -1"), "Cargo.toml": ""},
    seconds=240.0,
    hang_seconds=6.0,
)

RUST_INLINE = """
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
    }
}
"""

C_RIGHT = "int add(int a, int b) {\n    return a + b;\n}\n\nint one(void) {\n    return 1;\n}\n"
C_TEST = """\
#include <stdio.h>
#include <string.h>

int add(int a, int b);
int one(void);

int main(int argc, char **argv) {
    int adds = argc > 1 && strcmp(argv[1], "adds") == 0;
    int got = adds ? add(1, 2) : one(), want = adds ? 3 : 1;
    if (got != want) {
        fprintf(stderr, "got %d, want %d\\n", got, want);
        return 1;
    }
    return 0;
}
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.10)
project(small LANGUAGE)
option(SMALL_BUILD_TESTS "build the tests" OFF)
add_library(sum sum.EXT)
if(SMALL_BUILD_TESTS)
  enable_testing()
  add_executable(test_sum tests/test_sum.EXT)
  target_link_libraries(test_sum sum)
  add_test(NAME adds COMMAND test_sum adds)
  add_test(NAME keeps_one COMMAND test_sum one)
endif()
"""
MESON = """\
project('small', 'c')
sum = static_library('sum', 'sum.c')
test_sum = executable('test_sum', 'tests/test_sum.c', link_with: sum)
test('adds', test_sum, args: ['adds'])
test('keeps_one', test_sum, args: ['one'])
"""
MAKEFILE = """\
test: build/test_sum
\t@echo 1..2
\t@build/test_sum adds && echo "ok 1 - adds" || echo "not ok 1 - adds"
\t@build/test_sum one && echo "ok 2 - keeps_one" || echo "not ok 2 - keeps_one"
build/test_sum: sum.c tests/test_sum.c
\t@mkdir -p build && $(CC) -o $@ $^
"""


def _c(name: str, *, build: Files, extension: str = "c", **more: object) -> Small:
    source, test = f"sum.{extension}", f"tests/test_sum.{extension}"
    return Small(
        name=name,
        files={**build, source: C_RIGHT.replace("a + b", "a - b"), test: C_TEST},
        source=source,
        right=C_RIGHT,
        breaks=C_RIGHT.replace("return 1", "return 2"),
        hangs="#include <unistd.h>\n" + C_RIGHT.replace("return a + b", "for (;;) sleep(b < a)"),
        target="adds",
        keeps="keeps_one",
        cheat={test: C_TEST.replace("? 3 : 1", "? -1 : 1"), next(iter(build)): "# nothing\n"},
        **{"toolchain": extension, "hang_seconds": 4.0, **more},  # type: ignore[arg-type]
    )


def _cmake(extension: str, language: str) -> Files:
    return {"CMakeLists.txt": CMAKE.replace("EXT", extension).replace("LANGUAGE", language)}


C = [
    _c("cmake", build=_cmake("c", "C"), needs=("cmake", "cc"), runner="ctest"),
    _c("cmake-cpp", build=_cmake("cpp", "CXX"), extension="cpp", needs=("cmake", "c++"), runner="ctest"),
    _c("meson", build={"meson.build": MESON}, needs=("meson", "ninja", "cc"), runner="meson test"),
    _c("make", build={"Makefile": MAKEFILE}, needs=("make", "cc"), runner="make test"),
]

JAVA_RIGHT = """\
package small;

public class Sum {
    public static int add(int a, int b) {
        return a + b;
    }

    public static int one() {
        return 1;
    }
}
"""
JAVA_TEST = """\
package small;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class SumTest {
    @Test
    public void adds() {
        assertEquals(3, Sum.add(1, 2));
    }

    @Test
    public void keepsOne() {
        assertEquals(1, Sum.one());
    }
}
"""
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>small</groupId>
  <artifactId>small</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>junit</groupId>
      <artifactId>junit</artifactId>
      <version>4.x</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
</project>
"""
JAVA_SOURCE, JAVA_TESTS = "src/main/java/small/Sum.java", "src/test/java/small/SumTest.java"
MAVEN = Small(
    name="maven",
    toolchain="java",
    needs=("mvn", "javac"),
    files={"pom.xml": POM, JAVA_SOURCE: JAVA_RIGHT.replace("a + b", "a - b"), JAVA_TESTS: JAVA_TEST},
    source=JAVA_SOURCE,
    right=JAVA_RIGHT,
    breaks=JAVA_RIGHT.replace("return 1", "return 2"),
    hangs=JAVA_RIGHT.replace("return a + b", "while (a != b) { Thread.onSpinWait(); } return a"),
    target="small.SumTest.adds",
    keeps="small.SumTest.keepsOne",
    runner="mvn test",
    cheat={JAVA_TESTS: JAVA_TEST.replace("(3,", "(-1,"), "pom.xml": POM.replace("4.x", "5")},
    seconds=240.0,
    hang_seconds=6.0,
    debian_maven=True,
)

RUBY_RIGHT = """\
module Sum
  def self.add(a, b)
    a + b
  end

  def self.one
    1
  end
end
"""
MINITEST = """\
require 'minitest/autorun'
require_relative '../lib/sum'

class SumTest < Minitest::Test
  def test_adds
    assert_equal 3, Sum.add(1, 2)
  end

  def test_keeps_one
    assert_equal 1, Sum.one
  end
end
"""
RSPEC = """\
require_relative '../lib/sum'

RSpec.describe Sum do
  it 'adds' do
    expect(Sum.add(1, 2)).to eq(3)
  end

  it 'keeps one' do
    expect(Sum.one).to eq(1)
  end
end
"""


def _ruby(name: str, *, test_file: str, test: str, **more: object) -> Small:
    return Small(
        name=name,
        toolchain="ruby",
        files={"lib/sum.rb": RUBY_RIGHT.replace("a + b", "a - b"), test_file: test},
        source="lib/sum.rb",
        right=RUBY_RIGHT,
        breaks=RUBY_RIGHT.replace("    1\n", "    2\n"),
        hangs=RUBY_RIGHT.replace("a + b", "sleep"),
        cheat={test_file: test.replace("3", "-1")},
        **more,  # type: ignore[arg-type]
    )


RUBY = [
    _ruby(
        "minitest", test_file="test/sum_test.rb", test=MINITEST, needs=("ruby",), runner="ruby -Itest",
        target="SumTest#test_adds", keeps="SumTest#test_keeps_one",
    ),
    _ruby(
        "rspec", test_file="spec/sum_spec.rb", test=RSPEC, needs=("ruby", "rspec"), runner="rspec",
        target="spec/sum_spec.rb > Sum adds", keeps="spec/sum_spec.rb > Sum keeps one",
    ),
]  # fmt: skip

PHP_RIGHT = """\
<?php

class Sum
{
    public static function add($a, $b)
    {
        return $a + $b;
    }

    public static function one()
    {
        return 1;
    }
}
"""
PHPUNIT = """\
<?php

use PHPUnit\\Framework\\TestCase;

require_once __DIR__ . '/../src/Sum.php';

final class SumTest extends TestCase
{
    public function testAdds(): void
    {
        $this->assertSame(3, Sum::add(1, 2));
    }

    public function testKeepsOne(): void
    {
        $this->assertSame(1, Sum::one());
    }
}
"""
PHP = Small(
    name="phpunit",
    toolchain="php",
    needs=("php", "phpunit"),
    files={"src/Sum.php": PHP_RIGHT.replace("$a + $b", "$a - $b"), "tests/SumTest.php": PHPUNIT},
    source="src/Sum.php",
    right=PHP_RIGHT,
    breaks=PHP_RIGHT.replace("return 1", "return 2"),
    hangs=PHP_RIGHT.replace("return $a + $b", "sleep(600)"),
    target="SumTest::testAdds",
    keeps="SumTest::testKeepsOne",
    runner="phpunit",
    cheat={"tests/SumTest.php": PHPUNIT.replace("(3,", "(-1,")},
)
GRADLE_BUILD = """\
plugins { id 'java' }
repositories { maven { url 'file:///usr/share/maven-repo' } }
dependencies { testImplementation 'junit:junit:4.x' }
"""
GRADLE = replace(
    MAVEN,
    name="gradle",
    needs=("gradle", "javac"),
    files={"build.gradle": GRADLE_BUILD, **{k: v for k, v in MAVEN.files.items() if k != "pom.xml"}},
    runner="gradle test",
    cheat={JAVA_TESTS: JAVA_TEST.replace("(3,", "(-1,"), "build.gradle": "plugins { id 'java' }\n"},
)

EVERY = [*JAVASCRIPT, GO, RUST, *C, MAVEN, GRADLE, *RUBY, PHP]
