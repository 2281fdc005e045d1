"""What is found in trees of every language, by their files alone: the toolchain, the command, and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from acr_cli.parts import load
from acr_cli.protocols import Toolchain
from acr_cli.toolchains import BUILTIN

Tree = Callable[[Mapping[str, str]], Path]
CHAINS: dict[str, Toolchain] = {name: load("toolchains", name, BUILTIN)() for name in BUILTIN}
GO_TEST = 'package a\n\nimport "testing"\n\nfunc TestA(t *testing.T) {}\n'
RUST = {"Cargo.toml": '[package]\nname = "a"\n', "src/lib.rs": "#[test]\nfn a() {}\n"}
GO_NEEDS = "module a\nrequire github.com/x/y v1.0.0\n"
CRATE_NEEDS = '[package]\nname = "a"\n[dependencies]\nb = "1"\n'
WORKFLOW = "jobs:\n  test:\n    steps:\n      - run: {}\n"
JAVA_TEST = "import org.junit.Test;\nclass ATest { @Test public void a() {} }\n"


def first(root: Path, command: str | None = None) -> tuple[str, str, str, str]:
    """Toolchain, command, reason and script of the one that the verifier would take."""
    for name, chain in CHAINS.items():
        if chain.recipe(root, setup=None) is None:
            continue
        plan = chain.plan(root, command=command, tests=(), scratch="/s")
        if plan is not None:
            return name, plan.command, plan.reason, plan.files.get("/s/acr/run", b"").decode()
    return "", "", "", ""


def scripts(text: str, **more: str) -> dict[str, str]:
    named = {name.replace("_", ":"): value for name, value in {"test": text, **more}.items()}
    return {"package.json": json.dumps({"scripts": named}), "a.js": "1\n"}


def depends(*, by: str = "", lock: str = "", text: str = "") -> dict[str, str]:
    manifest = json.dumps({"dependencies": {"a": "1"}, **({"packageManager": by} if by else {})})
    return {"package.json": manifest, **({lock: text} if lock else {})}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("jest", "jest --ci"),
        ("jest --watch", "jest --ci"),
        ("jest --coverage --runInBand src", "jest --runInBand src --ci"),
        ("cross-env NODE_ENV=test jest --config conf.js", "NODE_ENV=test jest --config conf.js --ci"),
        ("NODE_OPTIONS=--vm-modules npx jest", "NODE_OPTIONS=--vm-modules jest --ci"),
        ("node node_modules/jest/bin/jest.js", "node node_modules/jest/bin/jest.js --ci"),
        ("react-scripts test", "react-scripts test --ci"),
        ("vitest", "vitest run --reporter=json"),
        ("vitest run --coverage", "vitest run --reporter=json"),
        ("vitest --ui --reporter verbose --project unit", "vitest run --project unit --reporter=json"),
        ("mocha", "mocha --reporter=$ACR_SCRATCH"),
        ("nyc --reporter=text mocha -R dot 'test/**/*.ts'", "mocha 'test/**/*.ts'"),
        ("c8 mocha -R dot -r ts-node/register test/**/*.ts", "mocha -r ts-node/register 'test/**/*.ts'"),
        ("node --test", 'node --test "--test-reporter=$ACR_SCRATCH/acr/acr_node.mjs"'),
        ("node --import tsx --test test/*.ts", 'node --import tsx --test "--test-reporter'),
        ("tsx --test src/*.test.ts", 'tsx --test "--test-reporter'),
        ("eslint . && jest", "jest --ci"),
        ("tsc && mocha dist/test", "mocha dist/test --reporter"),
        ("tap test/*.js", ""),
        ("make test", ""),
    ],
)  # fmt: skip
def test_a_script_of_package_json_is_run_by_what_it_names(script: str, expected: str, tree: Tree) -> None:
    name, command, reason, script_run = first(tree(scripts(script)))
    assert (name, command) == ("javascript", "npm test")
    assert "package.json has a script 'test'" in reason
    if expected:
        assert expected in script_run.replace('"--ci"', "--ci").replace('"--reporter', "--reporter")
        assert "its output and its exit code" not in reason
    else:
        assert "its exit code decides" in reason


def test_scripts_are_followed_and_steps_that_build_come_before(tree: Tree) -> None:
    made = scripts(
        "npm run lint && npm run build && npm run test:unit",
        lint="eslint .",
        build="tsc",
        test_unit="mocha out",
    )
    _, _, _, script = first(tree(made))
    assert "mocha out" in script
    assert "\ntsc\n" in script
    assert "eslint" not in script


@pytest.mark.parametrize(
    ("more", "ran"),
    [
        ({}, "( npm test 2>&1;"),
        ({"pretest": "npm run lint", "lint": "eslint ."}, "( nyc tape 'test/**/*.js' 2>&1;"),
        ({"posttest": "npx npm@'>=10.2' audit --production"}, "( nyc tape 'test/**/*.js' 2>&1;"),
        ({"pretest": "eslint . && rollup -c"}, "( (rollup -c && nyc tape 'test/**/*.js') 2>&1;"),
        ({"pretest": "eslint . && rm out; true"}, "( ((rm out; true) && nyc tape 'test/**/*.js') 2>&1;"),
    ],
)
def test_linters_and_audits_around_tests_that_no_reader_knows_do_not_decide(
    more: dict[str, str], ran: str, tree: Tree
) -> None:
    made = {"test": "npm run tests-only --", "tests-only": "nyc tape 'test/**/*.js'", **more}
    name, command, _, script = first(tree({"package.json": json.dumps({"scripts": made})}))
    assert (name, command) == ("javascript", "npm test")
    assert ran in script


@pytest.mark.parametrize(
    ("files", "name", "command"),
    [
        ({"package.json": "{}", "jest.config.js": "", "a.test.js": ""}, "javascript", "npx jest"),
        (
            {"package.json": '{"devDependencies": {"vitest": "1"}}', "a.test.ts": ""},
            "typescript",
            "npx vitest",
        ),
        ({"a.test.mjs": "import test from 'node:test';"}, "javascript", "node --test"),
        ({"package.json": '{"scripts": {"test": "echo no test specified && exit 1"}}', "a.js": ""}, "", ""),
        ({"package.json": "{}", "a.js": "", "Makefile": "test:\n\tnode a.js\n"}, "javascript", "make test"),
        ({"package.json": "{}", "a.js": "", "justfile": "test:\n  node a.js\n"}, "javascript", "just test"),
        ({"go.mod": "module a\n", "a_test.go": GO_TEST}, "go", "go test ./..."),
        ({"go.mod": "module a\n", "a.go": "package a\n"}, "", ""),
        (RUST, "rust", "cargo test"),
        ({**RUST, "Cargo.toml": RUST["Cargo.toml"] + "[workspace]\n"}, "rust", "cargo test --workspace"),
        ({"pom.xml": "<project/>", "src/test/java/ATest.java": JAVA_TEST}, "java", "mvn test"),
        ({"build.gradle.kts": "", "src/test/java/ATest.java": JAVA_TEST}, "java", "gradle test"),
        ({"CMakeLists.txt": "include(CTest)\n", "a.c": ""}, "c", "ctest"),
        ({"CMakeLists.txt": "add_test(a a)\n", "a.cpp": ""}, "cpp", "ctest"),
        ({"CMakeLists.txt": "project(a)\n", "a.c": ""}, "", ""),
        ({"meson.build": "test('a', a)\n", "a.c": ""}, "c", "meson test"),
        ({"Makefile": "CC := gcc\ncheck: all\n", "a.c": ""}, "c", "make check"),
        ({"Makefile": "testing:\ntest := 1\n", "a.c": ""}, "", ""),
        ({"configure": "", "Makefile.in": "", "a.c": ""}, "c", "./configure && make check"),
        ({"spec/a_spec.rb": "", "lib/a.rb": ""}, "ruby", "rspec"),
        ({"test/a_test.rb": "require 'minitest/autorun'"}, "ruby", "ruby -Itest test/a_test.rb"),
        ({"test/a_test.rb": "require 'test/unit'", "Rakefile": ""}, "ruby", "rake test"),
        ({"tests/ATest.php": "<?php"}, "php", "phpunit"),
        ({"tests/Pest.php": "<?php", "tests/Unit/ATest.php": "<?php"}, "php", "pest"),
    ],
)
def test_a_tree_is_known_by_its_files(files: Mapping[str, str], name: str, command: str, tree: Tree) -> None:
    found = first(tree(files))
    assert found[:2] == (name, command)
    assert bool(found[2]) == bool(name)


@pytest.mark.parametrize(
    ("step", "files", "expected"),
    [
        ("go test -race -tags x ./...", {"go.mod": "module a\n", "a_test.go": GO_TEST}, "-tags x"),
        ("cargo test --all-features --verbose", RUST, "--all-features"),
        ("cmake -DX=ON -DCMAKE_C_COMPILER=gcc", {"CMakeLists.txt": "add_test(a a)", "a.c": ""}, "-DX=ON"),
    ],
)  # fmt: skip
def test_options_that_ci_needs_are_taken_over(
    step: str, files: Mapping[str, str], expected: str, tree: Tree
) -> None:
    _, _, _, script = first(tree({**files, ".github/workflows/ci.yml": WORKFLOW.format(step)}))
    assert expected in script
    assert "race" not in script
    assert "COMPILER" not in script


@pytest.mark.parametrize(
    ("files", "below"),
    [
        ({"CMakeLists.txt": "add_test(a a)", "a.c": ""}, False),
        ({"sub/CMakeLists.txt": "add_test(a a)", "sub/a.c": ""}, True),
        ({"web/package.json": '{"scripts": {"test": "jest"}}', "web/a.js": ""}, True),
        ({"tools/test_a.py": "def test_a(): pass\n"}, True),
        ({"test_a.py": "def test_a(): pass\n"}, False),
        ({"pyproject.toml": "", "tests/test_a.py": "def test_a(): pass\n"}, False),
    ],
)
def test_who_knows_the_root_goes_before_who_knows_a_folder(
    files: Mapping[str, str], below: bool, tree: Tree
) -> None:
    root = tree(files)
    known = [chain for chain in CHAINS.values() if chain.recipe(root, setup=None) is not None]
    plans = [chain.plan(root, command=None, tests=(), scratch="/s") for chain in known]
    assert [plan.below_root for plan in plans if plan is not None] == [below]


def test_a_test_in_a_folder_of_another_language_does_not_name_the_tree(tree: Tree) -> None:
    files = {"CMakeLists.txt": "add_test(a a)", "a.c": "", "third/spec/a_spec.rb": "", "third/a.js": ""}
    assert first(tree({**files, "third/Makefile": "test:\n"}))[0] == "c"


def test_a_tree_from_before_modules_becomes_one(tree: Tree) -> None:
    files = {"a.go": 'package a // import "example.com/a"\n', "a_test.go": GO_TEST}
    assert "go mod init example.com/a" in first(tree(files))[3]


def test_where_ci_does_without_options_they_are_left_out(tree: Tree) -> None:
    steps = "cargo test --features nightly\n      - run: cargo test"
    assert first(tree({**RUST, ".github/workflows/ci.yml": WORKFLOW.format(steps)}))[1] == "cargo test"


def test_ci_lines_for_a_shell_are_left_out(tree: Tree) -> None:
    step = "go test -tags ${{ matrix.tags }} ./..."
    files = {"go.mod": "module a\n", "a_test.go": GO_TEST, ".github/workflows/ci.yml": WORKFLOW.format(step)}
    assert first(tree(files))[1] == "go test ./..."


def test_options_that_leave_tests_out_are_set(tree: Tree) -> None:
    text = 'option(A_BUILD_TESTS "tests" OFF)\noption(A_TEST_COVERAGE "x" OFF)\nadd_test(a a)\n'
    script = first(tree({"CMakeLists.txt": text, "a.c": ""}))[3]
    assert "-DA_BUILD_TESTS=ON" in script
    assert "COVERAGE" not in script


def test_every_module_of_a_repository_is_tested(tree: Tree) -> None:
    files = {f"{where}/{name}": text for where in ("a", "b/c") for name, text in
             (("go.mod", "module x\n"), ("x_test.go", GO_TEST))}  # fmt: skip
    _, command, _, script = first(tree({**files, "vendor/v/go.mod": "", "vendor/v/v_test.go": GO_TEST}))
    assert command == "(cd a && go test ./...); (cd b/c && go test ./...)"
    assert "cd a || exit 126" in script
    assert "vendor" not in script


def test_the_root_speaks_for_its_workspaces(tree: Tree) -> None:
    member = {"packages/a/package.json": '{"scripts": {"test": "jest"}}', "packages/a/a.js": ""}
    assert first(tree({**scripts("vitest"), **member}))[1] == "npm test"
    root = tree({**member, "package.json": '{"workspaces": ["packages/*"]}'})
    assert first(root)[1] == "cd packages/a && npm test"


@pytest.mark.parametrize(
    ("command", "files", "expected"),
    [
        ("npm test", scripts("mocha -w"), 'mocha "--reporter'),
        ("npx jest src/a.test.js", {"package.json": "{}"}, 'jest src/a.test.js "--ci"'),
        ("go test -v -run TestA ./a", {"go.mod": "", "a.go": ""}, "go test -json -count=1 -run TestA ./a"),
        ("cargo test --features x -- --nocapture", RUST, "cargo test --offline --features x --no-fail-fast"),
        ("mvn -q clean test -Pfast", {"pom.xml": ""}, "-Pfast test"),
        ("./gradlew clean test", {"build.gradle": ""}, "--offline --no-daemon"),
        ("bundle exec rspec spec/a_spec.rb", {"a.rb": ""}, "--out $ACR_REPORT/rspec.json spec/a_spec.rb"),
        ("vendor/bin/phpunit --testsuite unit", {"a.php": ""}, "phpunit.xml --testsuite unit"),
        ("npm run lint && npm test", scripts("jest"), "sh -c 'npm run lint && npm test'"),
        ("./run-tests.sh", {"a.c": ""}, "sh -c ./run-tests.sh"),
    ],
)  # fmt: skip
def test_a_command_of_the_users_is_read_where_it_can_be(
    command: str, files: Mapping[str, str], expected: str, tree: Tree
) -> None:
    _, shown, reason, script = first(tree(files), command)
    assert shown == command
    assert reason.startswith("given by --test")
    assert expected in script


@pytest.mark.parametrize(
    ("chain", "tests", "expected"),
    [
        ("javascript", ["a.test.js > s > adds (1)"], "--grep"),
        ("go", ["x/a.TestA/sub", "x/a.TestB"], "-run '^(TestA|TestB)$' x/a"),
        ("rust", ["a::tests::one"], "-- --exact tests::one"),
        ("java", ["p.ATest.a"], "-Dtest='p.ATest#a'"),
        ("ruby", ["spec/a_spec.rb > A b"], "spec/a_spec.rb -e 'A b'"),
        ("php", ["ATest::testA"], "--filter"),
        ("c", ["adds"], "-R '^adds$'"),
    ],
)
def test_single_tests_can_be_run(chain: str, tests: list[str], expected: str, tree: Tree) -> None:
    files = {
        **scripts("mocha"), **RUST, "a.test.js": "", "go.mod": "module x\n", "a/a_test.go": GO_TEST,
        "pom.xml": "", "src/test/java/p/ATest.java": JAVA_TEST, "spec/a_spec.rb": "", "tests/ATest.php": "",
        "CMakeLists.txt": "add_test(adds a)\n", "a.c": "",
    }  # fmt: skip
    plan = CHAINS[chain].plan(tree(files), command=None, tests=tests, scratch="/s")
    assert plan is not None
    assert expected in plan.files["/s/acr/run"].decode()


@pytest.mark.parametrize(
    ("chain", "path", "expected"),
    [
        ("javascript", "src/sum.js", False),
        ("javascript", "src/sum.test.js", True),
        ("javascript", "src/__tests__/sum.js", True),
        ("javascript", "src/__snapshots__/a.snap", True),
        ("javascript", "package.json", True),
        ("javascript", "vite.config.ts", True),
        ("javascript", ".github/workflows/ci.yml", True),
        ("go", "sum.go", False),
        ("go", "sum_test.go", True),
        ("go", "testdata/x.golden", True),
        ("go", "go.sum", True),
        ("rust", "src/lib.rs", False),
        ("rust", "tests/it.rs", True),
        ("rust", "Cargo.lock", True),
        ("java", "src/main/java/A.java", False),
        ("java", "src/test/java/A.java", True),
        ("java", "pom.xml", True),
        ("c", "src/latest.c", False),
        ("c", "src/test_sum.c", True),
        ("c", "CMakeLists.txt", True),
        ("ruby", "lib/spec.rb", False),
        ("ruby", "spec/a_spec.rb", True),
        ("php", "src/Contest.php", False),
        ("php", "tests/ATest.php", True),
        ("php", "phpunit.xml.dist", True),
    ],
)
def test_what_an_attempt_may_not_change(chain: str, path: str, expected: bool) -> None:
    assert CHAINS[chain].protected(path) is expected


@pytest.mark.parametrize(
    ("chain", "path", "right", "wrong"),
    [
        ("javascript", "a.js", "const a = <b>{c}</b>;\n", "const a = ;\n"),
        ("typescript", "a.ts", "let a: number = 1 as const;\n", "let a: = 1;\n"),
        ("typescript", "a.tsx", "const a = <b>{c}</b>;\n", "const a = <b>;\n"),
        ("go", "a.go", "package a\n\nfunc A[T any](t T) {}\n", "package a\n\nfunc A( {}\n"),
        ("rust", "a.rs", "fn a<'a>(x: &'a str) {}\n", "fn a( {}\n"),
        ("java", "A.java", "record A(int a) {}\n", "class A {\n"),
    ],
)
def test_what_does_not_parse_is_told_before_anything_runs(
    chain: str, path: str, right: str, wrong: str
) -> None:
    assert CHAINS[chain].syntax_error(path, right.encode()) is None
    assert (CHAINS[chain].syntax_error(path, wrong.encode()) or "").startswith("line ")


@pytest.mark.parametrize(
    ("chain", "files", "commands"),
    [
        ("javascript", {"package.json": "{}"}, []),
        ("javascript", depends(), ["npm install"]),
        ("javascript", depends(lock="package-lock.json"), ["npm ci"]),
        ("javascript", depends(lock="pnpm-lock.yaml", text="lockfileVersion: '6.0'\n"), ["pnpm@8 install"]),
        ("javascript", depends(lock="pnpm-lock.yaml", by="pnpm@10.1.0"), ["pnpm@10.1.0 install"]),
        ("javascript", depends(lock="yarn.lock", text="# yarn lockfile v1\n"), ["yarn@1 install"]),
        ("javascript", depends(lock="yarn.lock", text="__metadata:\n"), ["@yarnpkg/cli-dist@4 install"]),
        ("go", {"go.mod": "module a\n", "a.go": ""}, []),
        ("go", {"go.mod": GO_NEEDS, "a.go": ""}, ["go mod download"]),
        ("go", {"go.mod": GO_NEEDS, "a.go": "", "vendor/modules.txt": ""}, []),
        ("rust", RUST, []),
        ("rust", {**RUST, "Cargo.toml": '[package]\nname = "a"\n[dependencies]\nb = { path = "b" }\n'}, []),
        ("rust", {**RUST, "Cargo.toml": CRATE_NEEDS, "Cargo.lock": ""}, ["cargo fetch --locked"]),
        ("java", {"pom.xml": "junit-jupiter"}, ["jupiter.api.Test", "dependency:go-offline", "test"]),
        ("ruby", {"Gemfile": "gem 'rake'\n", "a.rb": ""}, ["bundle install"]),
        ("ruby", {"Gemfile": "source 'x'\n", "a.rb": ""}, []),
        ("php", {"composer.json": '{"require": {"a/b": "1"}}', "a.php": ""}, ["composer install"]),
        ("php", {"composer.json": '{"require": {"php": "8"}}', "a.php": ""}, []),
    ],
)  # fmt: skip
def test_what_installs_the_dependencies(
    chain: str, files: Mapping[str, str], commands: list[str], tree: Tree
) -> None:
    recipe = CHAINS[chain].recipe(tree(files), setup=None)
    assert recipe is not None
    assert bool(recipe.setup) == bool(commands)
    assert all(any(command in step for step in recipe.setup) for command in commands)
    given = CHAINS[chain].recipe(tree(files), setup="my own")
    assert given is not None
    assert [step for step in given.setup if "my own" in step]
    assert len(given.setup) == 1


WORKFLOW = """
name: ci
on: push
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: pip install -e .
      - name: tests
        run: |
          echo "begin" | tee log
          {}
"""
PYTHON = {"pyproject.toml": '[project]\nname = "a"\n', "a.py": '"""\n>>> 1 + 1\n2\n"""\n'}


@pytest.mark.parametrize(
    ("files", "command", "reason"),
    [
        ({"tox.ini": "[testenv]\ncommands =\n    ruff check\n    pytest --doctest-modules {posargs}\n"},
         "pytest --doctest-modules", "tox.ini names the command"),
        ({"pyproject.toml": '[tool.hatch.envs.default.scripts]\ntest = "pytest --doctest-modules {args}"\n'},
         "pytest --doctest-modules", "pyproject.toml has a script 'test' of hatch's environment default"),
        ({"pyproject.toml": '[tool.pdm.scripts]\ntest = {cmd = "python -m pytest"}\nlint = "ruff"\n'},
         "python -m pytest", "pyproject.toml has a script 'test' of pdm"),
        # Of what is no list of commands nothing is taken, and of no script is it read for long.
        ({"pyproject.toml": f"[tool]\ntox.env_run_base.commands = 5\n"
          f"pdm.scripts.test = 'pytest{' ' * 200_000}{{{{'\n"},
         "pytest" + " " * 200_000 + "{{", "pyproject.toml has a script 'test' of pdm"),
        ({"noxfile.py": 'def tests(session):\n    session.run("pytest", "--doctest-modules")\n'},
         "pytest --doctest-modules", "noxfile.py names the command"),
        ({"Makefile": "test:\n\tpython a.py\n", ".github/workflows/ci.yml": WORKFLOW.format("pytest -q")},
         "make test", "Makefile has a target test"),
        ({"justfile": "test:\n    python a.py\n"}, "just test", "justfile has a target test"),
        ({".github/workflows/ci.yml": WORKFLOW.format("python -m pytest --doctest-modules")},
         "python -m pytest --doctest-modules", ".github/workflows/ci.yml runs it"),
        ({".github/workflows/ci.yml": WORKFLOW.format("./scripts/test.sh")},
         "./scripts/test.sh", ".github/workflows/ci.yml runs it"),
        # A test file says more than all of these, and another language's root is left to it.
        ({"tox.ini": "[testenv]\ncommands = pytest x\n", "test_a.py": "def test_a(): pass\n"},
         "python3 -m pytest", "test_a.py looks like pytest"),
        ({"go.mod": "module a\n", "a.go": "", ".github/workflows/ci.yml": WORKFLOW.format("make check")},
         "make check", ".github/workflows/ci.yml runs it; its output and its exit code decide"),
        ({".github/workflows/ci.yml": WORKFLOW.format("make docs")}, None, None),
    ],
)  # fmt: skip
def test_what_tasks_and_ci_run_is_taken_where_no_test_file_is_known(
    tree: Tree, files: dict[str, str], command: str | None, reason: str | None
) -> None:
    root = tree({**PYTHON, **files})
    chains = [load("toolchains", name, BUILTIN)() for name in BUILTIN]
    known = [chain for chain in chains if chain.recipe(root, setup=None) is not None]
    plans = [chain.plan(root, command=None, tests=(), scratch="/s") for chain in known]
    found = next((plan for plan in plans if plan is not None), None)
    assert (found.command if found else None) == command
    assert (found.reason if found else None) == reason
