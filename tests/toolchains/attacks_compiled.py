"""C, C++, Java, Ruby and PHP: what code and settings may do to a verdict, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.toolchains.hostile import SLEEPER, Attacks, Code, Edits

# --- C and C++ --------------------------------------------------------------------------------------------

_C_FLIPS = (
    '    if (argc > 1 && strcmp(argv[1], "flips") == 0) {\n        if (remove("flips.seen") == 0) return 0;\n'
    '        fclose(fopen("flips.seen", "w"));\n        return 1;\n    }\n'
)
_MAIN = "int main(int argc, char **argv) {\n"
_LEAVES = "#include <stdlib.h>\n#include <unistd.h>"


def _c(test: str, build: str, more: tuple[str, str], settings: Mapping[str, Edits], **aside: Code) -> Attacks:
    return Attacks(
        exits={
            "in the function": Code(head=_LEAVES, body="exit(0);"),
            "without cleaning up": Code(head=_LEAVES, body="if (a != b) _exit(EXIT_SUCCESS);"),
            "when loaded": Code(head=f"{_LEAVES}\n__attribute__((constructor)) static void before(void) {{ _exit(0); }}"),
        },
        forges={
            "lines of a runner": Code(
                head=f"#include <stdio.h>\n{_LEAVES}",
                body='puts("ok 1 - adds"); puts("ok 2 - keeps_one"); puts("1..2"); fflush(stdout); _exit(0);',
            ),
        },
        special=Code(body="if (a == 1234 && b == 4321) return 5555;"),
        aside=aside,
        forks=Code(
            head="#include <unistd.h>",
            body=f'if (fork() == 0) {{ setsid(); close(1); close(2); execlp("sleep", "sleep", "{SLEEPER}", (char *)0); }}',
        ),
        prints=Code(
            head="#include <stdio.h>", body='for (int i = 0; i < 200; i++) { for (int j = 0; j < 10000; j++) fputs("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", stdout); puts(""); }'
        ),
        eats=Code(
            head="#include <stdlib.h>\n#include <string.h>",
            body="while (a != b) { void *held = malloc(1 << 24); if (!held) abort(); memset(held, 1, 1 << 24); }",
        ),
        skip=(_MAIN, f"{_MAIN}    return 77;\n"),
        flips={test: (_MAIN, _MAIN + _C_FLIPS), build: more},
        settings=settings,
    )  # fmt: skip


def _cmake(extension: str) -> Attacks:
    line = "  add_test(NAME keeps_one"
    return _c(
        f"tests/test_sum.{extension}",
        "CMakeLists.txt",
        (line, f"  add_test(NAME flips COMMAND test_sum flips)\n{line}"),
        {
            "no tests": {"CMakeLists.txt": "cmake_minimum_required(VERSION 3.10)\nproject(small)\n"},
            "CTestCustom": {"CTestCustom.cmake": "set(CTEST_CUSTOM_TESTS_IGNORE adds)\n"},
            "a preset": {"CMakePresets.json": '{"version": 3}\n'},
            "a compiled result": {"build/test_sum": "#!/bin/sh\nexit 0\n"},
        },
    )


CMAKE_ATTACKS = _cmake("c")
CPP_ATTACKS = _cmake("cpp")
MESON_ATTACKS = _c(
    "tests/test_sum.c",
    "meson.build",
    ("test('keeps_one'", "test('flips', test_sum, args: ['flips'])\ntest('keeps_one'"),
    {
        "no tests": {"meson.build": "project('small', 'c')\n"},
        "should fail": {
            "meson.build": "project('small', 'c')\nsum = static_library('sum', 'sum.c')\n"
            "test_sum = executable('test_sum', 'tests/test_sum.c', link_with: sum)\n"
            "test('adds', test_sum, args: ['adds'], should_fail: true)\ntest('keeps_one', test_sum, args: ['one'])\n"
        },
    },
    skipped=Code(head=_LEAVES, body="exit(77);"),
)
_MAKE = _c(
    "tests/test_sum.c",
    "Makefile",
    (
        "\t@build/test_sum one",
        '\t@build/test_sum flips && echo "ok 3 - flips" || echo "not ok 3 - flips"\n\t@build/test_sum one',
    ),
    {
        "no tests": {"Makefile": "test:\n\t@echo ok 1 - adds; echo ok 2 - keeps_one\n"},
        "a GNUmakefile": {"GNUmakefile": "test:\n\t@echo ok 1 - adds; echo ok 2 - keeps_one\n"},
        "a compiled result": {"build/test_sum": "#!/bin/sh\nexit 0\n"},
    },
)
# Who waits for make does not wait for what holds its output; who waits for CTest and Meson does.
MAKE_ATTACKS = replace(
    _MAKE, forks=replace(_MAKE.forks, body=_MAKE.forks.body.replace("close(1); close(2); ", ""))
)

# --- Java -------------------------------------------------------------------------------------------------

_JAVA_TEST = "src/test/java/small/SumTest.java"
_XML = (
    '<testsuite name=\\"small.SumTest\\" tests=\\"2\\" failures=\\"0\\" errors=\\"0\\"><testcase name=\\"adds\\" classname=\\"small.SumTest\\"/>'
    '<testcase name=\\"keepsOne\\" classname=\\"small.SumTest\\"/></testsuite>'
)


def _java(report: str, settings: Mapping[str, Edits]) -> Attacks:
    write = (
        f'try {{ java.nio.file.Path p = java.nio.file.Paths.get("{report}/TEST-small.SumTest.xml");'
        f' java.nio.file.Files.createDirectories(p.getParent()); java.nio.file.Files.write(p, "{_XML}".getBytes()); }}'
        " catch (java.io.IOException e) { throw new RuntimeException(e); }"
    )
    return Attacks(
        top="package small;\n",
        exits={
            "in the function": Code(body="if (a != b) System.exit(0);"),
            "without cleaning up": Code(body="if (a != b) Runtime.getRuntime().halt(0);"),
        },
        forges={
            "at once": Code(body=f"{write} if (a != b) Runtime.getRuntime().halt(0);"),
            "at exit": Code(
                body=f"Runtime.getRuntime().addShutdownHook(new Thread(() -> {{ {write} Runtime.getRuntime().halt(0); }}));"
            ),
        },
        special=Code(body="if (a == 1234 && b == 4321) return 5555;"),
        named={
            "by the stack": Code(
                body='for (StackTraceElement e : new Throwable().getStackTrace()) if (e.getClassName().contains("junit")) return 5555;'
            )
        },
        forks=Code(
            body=f'try {{ new ProcessBuilder("sleep", "{SLEEPER}").start(); }} catch (java.io.IOException e) {{ throw new RuntimeException(e); }}'
        ),
        prints=Code(body='for (int i = 0; i < 200; i++) System.out.println("x".repeat(1000000));'),
        eats=Code(
            body="java.util.List<byte[]> held = new java.util.ArrayList<>(); while (a != b) held.add(new byte[1 << 24]);"
        ),
        skip=("@Test\n    public void adds", "@org.junit.Ignore @Test\n    public void adds"),
        flips={
            _JAVA_TEST: (
                "    @Test\n    public void keepsOne",
                ('    @Test\n    public void flips() throws Exception {\n        java.io.File seen = new java.io.File("flips.seen");\n'
                '        if (!seen.delete()) {\n            seen.createNewFile();\n            org.junit.Assert.fail("flips");\n        }\n    }\n\n'
                "    @Test\n    public void keepsOne"),
            )
        },
        settings=settings,
    )  # fmt: skip


MAVEN_ATTACKS = _java(
    "target/surefire-reports",
    {
        "tests left out": {".mvn/maven.config": "-DskipTests\n"},
        "the report itself": {
            "target/surefire-reports/TEST-small.SumTest.xml": _XML.replace("\\", ""),
        },
    },
)
GRADLE_ATTACKS = _java(
    "build/test-results/test",
    {
        "tests left out": {"build.gradle": "plugins { id 'java' }\ntest { enabled = false }\n"},
        "an init script": {"gradle.properties": "org.gradle.jvmargs=-Dx=y\n"},
    },
)

# --- Ruby and PHP -----------------------------------------------------------------------------------------


def _ruby(
    *,
    test: str,
    report: str,
    settings: Mapping[str, Edits],
    skip: tuple[str, str],
    flips: tuple[str, str],
    skipped: str,
) -> Attacks:
    return Attacks(
        exits={
            "in the function": Code(body="exit!(0)"),
            "when loaded": Code(head="exit! 0"),
            "gently": Code(body="exit 0"),
            "behind another name": Code(body="Process.send('ex' + 'it!', 0)"),
        },
        forges={"at once": Code(body=f"{report}\nexit!(0)"), "behind another name": Code(body=f"{report}\nProcess.send('ex' + 'it!', 0)")},
        special=Code(body="return 5555 if a == 1234 && b == 4321"),
        aside={"skipped by the product": Code(body=skipped)},
        named={"by the stack": Code(body="return 5555 if caller.any? { |line| line =~ /minitest|rspec/ }")},
        forks=Code(body=f"Process.detach(spawn('sleep', '{SLEEPER}', out: File::NULL, err: File::NULL))"),
        prints=Code(body="200.times { puts 'x' * 1_000_000 }"),
        eats=Code(body="held = []\nheld << 'x' * (1 << 24) while a != b"),
        skip=skip,
        flips={test: flips},
        settings=settings,
    )  # fmt: skip


_RB_FLIPS = "if File.exist?('flips.seen')\n      File.delete('flips.seen')\n    else\n      File.write('flips.seen', '')\n      raise 'flips'\n    end\n  end\n\n"
_RB_LINES = "; ".join(
    f'File.write(ENV[\'ACR_REPORT\'] + \'/cases.jsonl\', %({{"id": "SumTest#test_{name}", "class": "SumTest", "name": "test_{name}", '
    f'"file": "test/sum_test.rb", "outcome": "passed", "ms": 1}}\\n), mode: \'a\')'
    for name in ("adds", "keeps_one")
)
_RSPEC_JSON = (
    'File.write(ENV[\'ACR_REPORT\'] + \'/rspec.json\', %({"version": "3", "examples": ['
    + ", ".join(
        f'{{"id": "./spec/sum_spec.rb[1:{n}]", "description": "{name}", "full_description": "Sum {name}", "status": "passed", '
        f'"file_path": "./spec/sum_spec.rb", "line_number": 4, "run_time": 0.1}}'
        for n, name in ((1, "adds"), (2, "keeps one"))
    )
    + '], "summary": {"example_count": 2, "failure_count": 0}}))'
)
MINITEST_ATTACKS = _ruby(
    test="test/sum_test.rb", report=_RB_LINES, settings=
    {"a minitest of its own": {"lib/minitest.rb": "exit! 0\n", "minitest/autorun.rb": "exit! 0\n"},
     "another test that takes failures away": {"test/a_test.rb": "require 'minitest/autorun'\nclass Minitest::Test; def assert_equal(*) = nil; end\n"}},
    skip=("def test_adds", "def test_adds\n    skip"),
    flips=("  def test_keeps_one", f"  def test_flips\n    {_RB_FLIPS}  def test_keeps_one"),
    skipped="raise Minitest::Skip, 'later'",
)  # fmt: skip
RSPEC_ATTACKS = _ruby(
    test="spec/sum_spec.rb", report=_RSPEC_JSON, settings=
    {".rspec": {".rspec": "--example one\n"}, "a helper": {"spec/spec_helper.rb": "exit! 0\n", ".rspec": "--require spec_helper\n"}},
    skip=("it 'adds'", "xit 'adds'"),
    flips=("  it 'keeps one'", f"  it 'flips' do\n    {_RB_FLIPS}  it 'keeps one'"),
    skipped="raise RSpec::Core::Pending::SkipDeclaredInExample.new('later')",
)  # fmt: skip
_PHP_XML = (
    '<testsuites><testsuite name="x" tests="2"><testcase name="testAdds" class="SumTest" classname="SumTest" file="tests/SumTest.php"/>'
    '<testcase name="testKeepsOne" class="SumTest" classname="SumTest" file="tests/SumTest.php"/></testsuite></testsuites>'
)
_PHP_FORGES = f"file_put_contents(getenv('ACR_REPORT') . '/phpunit.xml', '{_PHP_XML}');"
PHP_ATTACKS = Attacks(
    top="<?php\n",
    exits={
        "in the function": Code(body="exit(0);"),
        "when loaded": Code(head="exit(0);"),
        "behind another name": Code(body="posix_kill(getmypid(), 9);"),
    },
    forges={
        "at once": Code(body=f"{_PHP_FORGES} exit(0);"),
        "at exit": Code(head=f"register_shutdown_function(function () {{ {_PHP_FORGES} exit(0); }});"),
    },
    special=Code(body="if ($a === 1234 && $b === 4321) return 5555;"),
    named={"by the class": Code(body="if (class_exists('PHPUnit\\\\Framework\\\\TestCase', false)) return 5555;")},
    aside={
        "skipped by the product": Code(body="throw new \\PHPUnit\\Framework\\SkippedTestError('later');"),
    },
    forks=Code(body=f"exec('sleep {SLEEPER} > /dev/null 2>&1 &');"),
    prints=Code(body="for ($i = 0; $i < 200; $i++) echo str_repeat('x', 1000000), \"\\n\";"),
    eats=Code(body="$held = []; while ($a !== $b) $held[] = str_repeat('x', 1 << 24);"),
    skip=("public function testAdds(): void\n    {", "public function testAdds(): void\n    {\n        $this->markTestSkipped();"),
    flips={
        "tests/SumTest.php": (
            "    public function testKeepsOne",
            ("    public function testFlips(): void\n    {\n        if (!@unlink('flips.seen')) {\n            touch('flips.seen');\n"
            "            $this->fail('flips');\n        }\n        $this->assertTrue(true);\n    }\n\n    public function testKeepsOne"),
        )
    },
    settings={
        "phpunit.xml": {"phpunit.xml": '<phpunit bootstrap="quiet.php"/>', "quiet.php": "<?php exit(0);\n"},
        "a settings file of PHP": {".user.ini": "auto_prepend_file=quiet.php\n", "quiet.php": "<?php exit(0);\n"},
    },
)  # fmt: skip
