"""Walls taken down one at a time, in a copy of the program: the test that attacks each must fail then.

`GUARDS` names a file, a text in it and what stands there instead, and the test. A wall whose test still
passes without it is not tested.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Guard:
    """One wall, how it is taken down, and the test that must notice."""

    name: str
    file: str
    text: str
    instead: str
    test: str


_KEYS = "tests/security/test_keys.py"
_LEAVES = "tests/security/test_nothing_leaves_the_tree.py"
_SEES = "tests/security/test_what_a_sandbox_sees.py"
_RUNS = "tests/security/test_no_code_of_a_repository_runs.py"
_UNASKED = "tests/security/test_files_run_unasked.py"
_MONEY = "tests/security/test_money.py"
_WALLS = "tests/sandbox/test_walls.py"
_DELIVERY = "tests/worktree/test_delivery.py"
_KEPT = "tests/worktree/test_kept.py"
_SWEEP = "tests/worktree/test_runs.py"
_LEFTOVERS = "tests/sandbox/test_leftovers.py"
_STORE = "tests/memory/test_store.py"
_INSIDE = "tests/security/test_inside_the_sandbox.py"
_ORDERS = "tests/security/test_injected_orders.py"
_PROJECT = "tests/security/test_what_a_project_may_set.py"
_SCREEN = "tests/security/test_screen.py"
_KEYS = "tests/security/test_keys.py"
_GATEWAY = "tests/models/test_gateway.py"
_SUPPLY = "tests/security/test_supply_chain.py"
_INSTALL = "tests/sandbox/test_install_network.py"
_DOCKERFILE = "tests/sandbox/test_dockerfile.py"
_INTERRUPTS = "tests/sandbox/test_interrupts.py"

GUARDS = (
    # 1: the user's work
    Guard(
        name="a file that the user changed meanwhile",
        file="acr_cli/worktree/delivery.py",
        text='            raise PatchConflict(\n                f"{entry.path} has changed while',
        instead='            PatchConflict(\n                f"{entry.path} has changed while',
        test=f"{_DELIVERY}::test_a_file_that_changed_meanwhile_is_a_conflict",
    ),
    Guard(
        name="a delivery that fails in the middle",
        file="acr_cli/worktree/delivery.py",
        text="                _take_back(plan)\n            raise",
        instead="                pass\n            raise",
        test=f"{_DELIVERY}::test_a_file_that_cannot_be_replaced_takes_all_of_it_back",
    ),
    Guard(
        name="an interrupt while a patch is delivered",
        file="acr_cli/interrupts.py",
        text="            signal.signal(held, note)\n",
        instead="            pass\n",
        test=f"{_DELIVERY}::test_an_interrupt_at_any_line_leaves_all_or_nothing",
    ),
    Guard(
        name="what a delivery is to note of itself",
        file="acr_cli/worktree/delivery.py",
        text='"note": dict(self.note),',
        instead='"note": {},',
        test=f"{_DELIVERY}::test_what_cannot_be_noted_now_is_noted_by_the_next_recovery",
    ),
    Guard(
        name="two programs at one run",
        file="acr_cli/worktree/runs.py",
        text="return FileLock(self.path / _LOCK, timeout=0)",
        instead="return FileLock(self.path / secrets.token_hex(4), timeout=0)",
        test=f"{_KEPT}::test_a_run_that_is_at_work_is_left_alone",
    ),
    Guard(
        name="a run that is alive",
        file="acr_cli/worktree/runs.py",
        text="return FileLock(self.path / _LOCK, timeout=0)",
        instead="return FileLock(self.path / secrets.token_hex(4), timeout=0)",
        test=f"{_SWEEP}::test_a_live_run_is_not_swept",
    ),
    Guard(
        name="a commit in the middle of a rebase",
        file="acr_cli/worktree/repository.py",
        text="        self._refuse_under_way()\n",
        instead="",
        test="tests/security/test_campaign.py::test_nothing_is_committed_while_git_is_in_the_middle_of_something",
    ),
    Guard(
        name="a run's copy that another program deletes",
        file="acr_cli/worktree/tree.py",
        text='if b"\\ndeleted file mode " in patch:',
        instead="if False:",
        test="tests/worktree/test_tree.py::test_what_another_program_deletes_in_a_tree_is_no_patch",
    ),
    # 2: the run's tree
    Guard(
        name="links out of the tree",
        file="acr_cli/worktree/tree.py",
        text="if loops or resolved == root or not resolved.is_relative_to(root):",
        instead="if False:",
        test=f"{_LEAVES}::test_a_hostile_path_is_refused_and_named",
    ),
    Guard(
        name="git's own names",
        file="acr_cli/worktree/names.py",
        text='return plain in (".git", "git~1")',
        instead="return False",
        test="tests/worktree/test_tree.py::test_a_hostile_path_is_refused",
    ),
    Guard(
        name="reading through links in a sandbox's copy",
        file="acr_cli/sandbox/files.py",
        text="flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC",
        instead="flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC",
        test=f"{_LEAVES}::test_what_a_command_makes_leads_nowhere",
    ),
    Guard(
        name="names that not every system can hold",
        file="acr_cli/worktree/tree.py",
        text="            if not all(map(is_portable, new)):",
        instead="            if False:",
        test=f"{_LEAVES}::test_a_hostile_path_is_refused_and_named",
    ),
    Guard(
        name="names that other systems take for another",
        file="acr_cli/worktree/tree.py",
        text="if other := twin(folder, new[0]):",
        instead="if other := '':",
        test=f"{_LEAVES}::test_a_hostile_path_is_refused_and_named",
    ),
    Guard(
        name="detection behind links out of the tree",
        file="acr_cli/toolchains/python_detect.py",
        text="return path if path.is_relative_to(tree.resolve()) else None",
        instead="return path",
        test=f"{_LEAVES}::test_detection_reads_nothing_behind_links_out_and_waits_for_no_pipe",
    ),
    # 3: code runs only in the sandbox
    Guard(
        name="a prefix of Python that is the whole machine",
        file="acr_cli/sandbox/interpreter.py",
        text="    return any(each.resolve().is_relative_to(folder) for each in inside)",
        instead="    return False",
        test=f"{_SEES}::test_an_environment_of_the_repository_does_not_show_the_machine",
    ),
    Guard(
        name="manifests behind links",
        file="acr_cli/sandbox/files.py",
        text="            if path.is_symlink():\n                break",
        instead="            if False:\n                break",
        test=f"{_SEES}::test_manifests_behind_a_link_are_not_copied",
    ),
    Guard(
        name="git's file-system monitor",
        file="acr_cli/worktree/hardened_git.py",
        text='"core.fsmonitor=false",',
        instead="",
        test="tests/worktree/test_repository.py::test_no_program_of_the_repository_runs",
    ),
    Guard(
        name="programs that a commit would run",
        file="acr_cli/worktree/repository.py",
        text="        self._refuse_programs()\n",
        instead="",
        test=f"{_RUNS}::test_a_commit_runs_the_programs_of_the_user_alone",
    ),
    Guard(
        name="no network in bubblewrap",
        file="acr_cli/sandbox/bubblewrap.py",
        text='options += ["--share-net"] if network else []',
        instead='options += ["--share-net"]',
        test=f"{_WALLS}::test_there_is_no_network",
    ),
    Guard(
        name="settings of the kernel in bubblewrap",
        file="acr_cli/sandbox/bubblewrap.py",
        text='options += ["--ro-bind-try", covered, covered]',
        instead="pass",
        test="tests/security/test_inside_the_sandbox.py::test_no_privilege_is_had",
    ),
    Guard(
        name="namespaces in bubblewrap",
        file="acr_cli/sandbox/bubblewrap.py",
        text="return (option,) if _tried(program, option).returncode == 0 else ()",
        instead="return ()",
        test="tests/security/test_inside_the_sandbox.py::test_no_namespace_can_be_made",
    ),
    Guard(
        name="addresses beside the machine while dependencies are installed",
        file="acr_cli/sandbox/reach.py",
        text="far = [place for place in places if not self.near(ipaddress.ip_address(place[1][0]))]",
        instead="far = places",
        test=f"{_INSTALL}::test_installing_reaches_nothing_on_or_beside_this_machine",
    ),
    Guard(
        name="no network but the proxy while dependencies are installed in bubblewrap",
        file="acr_cli/sandbox/bubblewrap.py",
        text="session = BubblewrapSession(self, copy, network=direct,",
        instead="session = BubblewrapSession(self, copy, network=True,",
        test=f"{_INSTALL}::test_installing_reaches_nothing_on_or_beside_this_machine",
    ),
    Guard(
        name="no network but the proxy while dependencies are installed in Docker",
        file="acr_cli/sandbox/images.py",
        text='yield f"container:{beside}", VARIABLES',
        instead="yield network_mode(self._engine), VARIABLES",
        test=f"{_INSTALL}::test_installing_reaches_nothing_on_or_beside_this_machine",
    ),
    Guard(
        name="addresses that a Dockerfile has the engine fetch",
        file="acr_cli/sandbox/dockerfile.py",
        text="if found and not _is_of_files(found[1]):",
        instead="if found and '://' in found[1]:",
        test=f"{_DOCKERFILE}::test_what_may_have_the_engine_fetch_an_address_is_found",
    ),
    Guard(
        name="folders behind links that an image is built from",
        file="acr_cli/sandbox/images.py",
        text="if not is_inside(tree, place):",
        instead="if not (tree / place).exists():",
        test=f"{_DOCKERFILE}::test_no_folder_and_no_dockerfile_is_taken_from_behind_a_link",
    ),
    Guard(
        name="system calls that reach past namespaces in bubblewrap",
        file="acr_cli/sandbox/started.py",
        text='own += ["--seccomp", str(rules)] if rules is not None else []',
        instead="pass",
        test="tests/security/test_inside_the_sandbox.py::test_what_reaches_out_of_the_sandbox_is_refused",
    ),
    Guard(
        name="the environment of the user in bubblewrap",
        file="acr_cli/sandbox/started.py",
        text="env=dict(environment),",
        instead="env={**os.environ, **environment},",
        test=f"{_INSIDE}::test_the_environment_holds_nothing_of_the_users",
    ),
    Guard(
        name="capabilities in a container",
        file="acr_cli/sandbox/containers.py",
        text='"cap_drop": ["ALL"],',
        instead='"cap_drop": [],',
        test=f"{_WALLS}::test_commands_are_an_ordinary_user_without_capabilities",
    ),
    Guard(
        name="a root that nobody writes in a container",
        file="acr_cli/sandbox/containers.py",
        text='"read_only": True,',
        instead='"read_only": False,',
        test=f"{_WALLS}::test_the_root_is_read_only_whoever_writes",
    ),
    Guard(
        name="no network in a container",
        file="acr_cli/sandbox/docker.py",
        text='network_mode(engine) if self._sandbox.network else "none"',
        instead='"host"',
        test=f"{_WALLS}::test_there_is_no_network",
    ),
    Guard(
        name="files of the machine in bubblewrap",
        file="acr_cli/sandbox/bubblewrap.py",
        text='"--ro-bind", "/usr", "/usr"]',
        instead='"--ro-bind", "/usr", "/usr", "--ro-bind", "/tmp", "/tmp", "--ro-bind-try", "/run", "/run"]',
        test=f"{_WALLS}::test_files_of_the_machine_are_not_seen",
    ),
    Guard(
        name="processes of a container",
        file="acr_cli/sandbox/containers.py",
        text='"pids_limit": limits.pids,',
        instead='"pids_limit": -1,',
        test=f"{_WALLS}::test_too_many_processes_are_stopped",
    ),
    Guard(
        name="what is written to the disk",
        file="acr_cli/sandbox/disk.py",
        text="return self.bytes <= limits.disk_bytes and self.files <= limits.files",
        instead="return True",
        test="tests/sandbox/test_disk.py::test_a_command_that_fills_the_disk_is_stopped_and_said",
    ),
    Guard(
        name="the disk behind an engine whose files are not seen",
        file="acr_cli/sandbox/volumes.py",
        text="self._disk = Disk(self._watcher, begun=self._put)",
        instead="return False",
        test="tests/sandbox/test_disk.py::"
        "test_where_the_engines_files_are_not_seen_a_container_tells_what_is_written",
    ),
    Guard(
        name="the user's limits for what models run",
        file="acr_cli/agent/toolbox.py",
        text="return replace(self._usual, seconds=max(1.0, seconds))",
        instead="return Limits(seconds=max(1.0, seconds))",
        test="tests/sandbox/test_limits_in_a_run.py::test_what_a_model_runs_keeps_the_limits_of_the_user",
    ),
    # 4: keys
    Guard(
        name="secrets",
        file="acr_cli/memory/encoding.py",
        text="return replace(outcome, text=redact(outcome.text), signals=signals)",
        instead="return outcome",
        test="tests/end_to_end/test_secrets.py::test_no_secret_of_a_task_stays_in_memory",
    ),
    Guard(
        name="base URLs of the environment",
        file="acr_cli/models/keys.py",
        text='r"(_API_BASE|_BASE_URL|',
        instead='r"(_NOTHING|',
        test=f"{_GATEWAY}::test_base_urls_of_the_environment_have_no_effect",
    ),
    Guard(
        name="a usual key for an address that names none",
        file="acr_cli/models/keys.py",
        text="    if candidate.base_url is not None or not candidate.model:\n        return ()",
        instead="    if not candidate.model:\n        return ()",
        test=f"{_GATEWAY}::test_a_providers_usual_key_does_not_go_to_a_base_url_that_names_none",
    ),
    Guard(
        name="a key in a provider's error",
        file="acr_cli/models/failures.py",
        text='        text = text.replace(key, "***")',
        instead="        text = text.strip()",
        test=f"{_GATEWAY}::test_a_refused_key_is_named_by_its_variable_and_never_shown",
    ),
    Guard(
        name="redirects of a provider",
        file="acr_cli/models/gateway.py",
        text="client.follow_redirects = False",
        instead="pass",
        test=f"{_KEYS}::test_no_key_follows_a_redirect",
    ),
    Guard(
        name="keys in the environment of git",
        file="acr_cli/worktree/hardened_git.py",
        text='return {name: "" for name in key_variables(os.environ) if',
        instead='return {name: "" for name in () if',
        test=f"{_KEYS}::test_git_is_given_no_key",
    ),
    Guard(
        name="a key for the name of its variable",
        file="acr_cli/settings/models.py",
        text='        case "api_key_env":\n            return variable_problem(value)\n',
        instead="",
        test=f"{_KEYS}::test_a_key_in_a_setting_that_is_for_none_is_refused_and_not_repeated",
    ),
    Guard(
        name="a key in an address",
        file="acr_cli/settings/models.py",
        text="    if holds_key(str(value)):",
        instead="    if False:",
        test=f"{_KEYS}::test_a_key_in_a_setting_that_is_for_none_is_refused_and_not_repeated",
    ),
    Guard(
        name="keys in settings that are shown",
        file="acr_cli/cli/toml.py",
        text="return literal(_without_keys(value))",
        instead="return literal(value)",
        test=f"{_KEYS}::test_what_settings_hold_is_shown_without_keys",
    ),
    Guard(
        name="a key that no header takes",
        file="acr_cli/models/keys.py",
        text="if not key or not (key.isascii() and key.isprintable()):",
        instead="if not key:",
        test=f"{_KEYS}::test_what_can_be_no_key_is_refused_and_not_repeated",
    ),
    Guard(
        name="keys in the trace of a crash",
        file="acr_cli/cli/main.py",
        text='struck("".join(traceback.format_exception(error)), environ)',
        instead='"".join(traceback.format_exception(error))',
        test=f"{_KEYS}::test_a_crash_tells_no_key",
    ),
    Guard(
        name="passwords of proxies that cannot be used",
        file="acr_cli/models/gateway.py",
        text="        check()\n",
        instead="",
        test=f"{_KEYS}::test_what_the_environment_has_wrong_is_named_and_not_repeated",
    ),
    Guard(
        name="keys in the messages of past commits",
        file="acr_cli/history/commits.py",
        text="message=without_keys(_message(headers[name])),",
        instead="message=_message(headers[name]),",
        test=f"{_KEYS}::test_no_password_of_git_and_no_key_of_an_unusual_variable_is_told",
    ),
    Guard(
        name="variables that look like keys, for git",
        file="acr_cli/redaction.py",
        text="(_is_telling(name) or _is_key(value))",
        instead="_is_telling(name)",
        test=f"{_KEYS}::test_git_is_given_no_key",
    ),
    # 5: injected orders
    Guard(
        name="what an issue's page does not show",
        file="acr_cli/cli/github.py",
        text='return _HIDDEN.sub(lambda found: found[1] or "", text).strip()',
        instead="return text.strip()",
        test=f"{_ORDERS}::test_what_a_page_does_not_show_reaches_no_model",
    ),
    Guard(
        name="commands that are to be allowed, shown whole",
        file="acr_cli/cli/asking.py",
        text="{hidden_shown(command)}",
        instead="{clean(command)}",
        test=f"{_SCREEN}::test_what_is_to_be_allowed_is_shown_whole",
    ),
    Guard(
        name="control sequences in the line that turns",
        file="acr_cli/cli/spinner.py",
        text="""Text(clean(f"{frame} {who}{': ' if who else ''}{text}"),""",
        instead="""Text(f"{frame} {who}{': ' if who else ''}{text}",""",
        test=f"{_SCREEN}::test_no_event_sends_what_a_stranger_wrote_to_a_terminal",
    ),
    Guard(
        name="control sequences in the message of a commit",
        file="acr_cli/build/delivering.py",
        text='return without_keys(_CONTROLS.sub("", text))',
        instead="return without_keys(text)",
        test=f"{_SCREEN}::test_the_message_of_a_commit_has_nothing_that_a_terminal_obeys_and_no_key",
    ),
    Guard(
        name="libraries from the folder that acr is called in",
        file="acr_cli/__main__.py",
        text="    del sys.path[0]\n",
        instead="    pass\n",
        test=f"{_RUNS}::test_the_module_takes_none_of_its_libraries_from_the_folder_it_is_called_in",
    ),
    Guard(
        name="files that tools run unasked",
        file="acr_cli/build/job.py",
        text="elif run_unasked and not",
        instead="elif False and not",
        test=f"{_UNASKED}::test_a_verified_patch_with_such_a_file_is_kept_until_somebody_says_yes",
    ),
    Guard(
        name="control sequences",
        file="acr_cli/cli/terminal.py",
        text='return _CONTROLS.sub("", _SEQUENCES.sub("", text))',
        instead="return text",
        test="tests/security/test_screen.py",
    ),
    Guard(
        name="files that assistants heed",
        file="acr_cli/worktree/unasked.py",
        text='"agents.md", ',
        instead="",
        test=f"{_UNASKED}::test_what_is_run_unasked_is_known",
    ),
    Guard(
        name="signs of a diff that nobody sees",
        file="acr_cli/cli/terminal.py",
        text="return _CONTROLS.sub(lambda found: _written_out(found[0]), text)",
        instead='return _CONTROLS.sub("", text)',
        test=f"{_SCREEN}::test_a_diff_shows_what_its_reader_would_not_see",
    ),
    Guard(
        name="an object that is equal to everything",
        file="acr_cli/verifier/integrity.py",
        text="        yield from _equal_to_all(added)\n",
        instead="        yield from ()\n",
        test=f"{_ORDERS}::test_an_order_to_forge_the_verdict_is_no_fix[be equal to everything]",
    ),
    # 6: a project's settings
    Guard(
        name="a project's settings",
        file="acr_cli/settings/sources.py",
        text="elif not key.project:",
        instead="elif False:",
        test="tests/test_settings.py::test_whatever_else_a_project_sets_is_ignored_with_a_warning",
    ),
    Guard(
        name="a project that raises a cap",
        file="acr_cli/settings/sources.py",
        text="            return min(mine, theirs)",
        instead="            return theirs",
        test=f"{_PROJECT}::test_a_key_only_narrows_or_is_ignored_and_said[max_cost]",
    ),
    Guard(
        name="a project that chooses a sandbox",
        file="acr_cli/settings/sources.py",
        text="return max(mine, theirs, key=order.index) if",
        instead="return theirs if",
        test=f"{_PROJECT}::test_a_key_only_narrows_or_is_ignored_and_said[sandbox]",
    ),
    Guard(
        name="a project's patterns of models",
        file="acr_cli/settings/sources.py",
        text="any(_within(t, m) for m in mine)",
        instead="any(fnmatchcase(t, m) for m in mine)",
        test=f"{_PROJECT}::test_a_key_only_narrows_or_is_ignored_and_said[allow]",
    ),
    Guard(
        name="settings of Chroma in a repository",
        file="acr_cli/memory/chroma.py",
        text="made(self, settings_cls, None, **more)",
        instead="made(self, settings_cls, env_file, **more)",
        test=f"{_PROJECT}::test_chroma_takes_nothing_from_the_folder_it_is_called_in",
    ),
    # 7: money
    Guard(
        name="the caps of a day and a month",
        file="acr_cli/agent/ledger.py",
        text="if spent + usd > self._caps[period]:\n                        raise",
        instead="if False:\n                        raise",
        test=f"{_MONEY}::test_many_processes_together_pass_no_cap",
    ),
    Guard(
        name="what a killed process had reserved",
        file="acr_cli/agent/ledger.py",
        text="values = (self._now(), usd)",
        instead="values = (self._now(), 0.0)",
        test=f"{_MONEY}::test_a_killed_process_leaves_the_most_that_its_call_could_cost",
    ),
    Guard(
        name="what attempts side by side may spend",
        file="acr_cli/agent/budget.py",
        text="        self._budget.hold(self, usd)\n        self._budget.reserve(usd)",
        instead="        self._budget.reserve(usd)",
        test="tests/test_caf.py::test_what_each_is_about_to_spend_is_kept_for_it",
    ),
    Guard(
        name="what an abandoned attempt had reserved",
        file="acr_cli/agent/budget.py",
        text="            self._budget.correct(self._counted, usd)\n",
        instead="            pass\n",
        test=f"{_MONEY}::test_what_an_abandoned_attempt_has_reserved_is_settled_when_its_call_ends",
    ),
    Guard(
        name="amounts that are none",
        file="acr_cli/agent/ledger.py",
        text=" and math.isfinite(usd) and usd >= 0",
        instead="",
        test=f"{_MONEY}::test_what_is_no_amount_frees_nothing",
    ),
    Guard(
        name="usage that is far too little",
        file="acr_cli/models/reckoning.py",
        text="FAR_OFF = 2.0",
        instead="FAR_OFF = 2e9",
        test=f"{_MONEY}::test_whatever_a_provider_reports_what_was_said_is_paid",
    ),
    Guard(
        name="usage that overflows",
        file="acr_cli/models/hearing.py",
        text="int(min(reported, MOST_TOKENS))",
        instead="int(reported)",
        test=f"{_MONEY}::test_whatever_a_provider_reports_what_was_said_is_paid",
    ),
    Guard(
        name="a call that was given up",
        file="acr_cli/models/gateway.py",
        text="hearing.begun = hearing.begun or error.was_read",
        instead="pass",
        test=f"{_MONEY}::test_whatever_a_provider_reports_what_was_said_is_paid",
    ),
    Guard(
        name="the length of a reply",
        file="acr_cli/models/gateway.py",
        text="        limits.append(int((budget.remaining_usd - sending) * MILLION / price.output))",
        instead="        pass",
        test=f"{_MONEY}::test_a_reply_is_cut_to_what_the_caps_pay_for",
    ),
    Guard(
        name="a price that nobody knows",
        file="acr_cli/models/gateway.py",
        text="        budget.affords(None)\n",
        instead="        pass\n",
        test=f"{_MONEY}::test_nothing_is_asked_that_no_cap_pays_for",
    ),
    # 8: degrades honestly
    Guard(
        name="copies that a killed run leaves",
        file="acr_cli/sandbox/copies.py",
        text="if whose is not None and whose.dead():",
        instead="if False:",
        test=f"{_LEFTOVERS}::test_copies_of_a_killed_run_on_the_host_are_swept",
    ),
    Guard(
        name="containers that a killed run leaves",
        file="acr_cli/sandbox/docker.py",
        text="return whose is not None and whose.dead()",
        instead="return False",
        test=f"{_LEFTOVERS}::test_what_a_killed_run_leaves_is_swept",
    ),
    Guard(
        name="the tree that a killed run leaves",
        file="acr_cli/worktree/runs.py",
        text="            run.drop_copies()\n",
        instead="",
        test=f"{_SWEEP}::test_a_dead_run_loses_its_copies_and_keeps_the_rest",
    ),
    Guard(
        name="what runs at an interrupt",
        file="acr_cli/sandbox/process.py",
        text="            kill()\n            code = process.wait()",
        instead="            code = process.poll() or 0",
        test=f"{_LEFTOVERS}::test_an_interrupted_command_leaves_nothing",
    ),
    Guard(
        name="the process that settles memory",
        file="acr_cli/memory/__main__.py",
        text="        os._exit(0)  # not later",
        instead="        time.sleep(100)  # not later",
        test="tests/memory/test_apart.py::test_it_goes_with_an_acr_that_is_killed",
    ),
    Guard(
        name="outcomes while another process holds the journal",
        file="acr_cli/memory/store.py",
        text="place = self._pending.hold(decode(row))",
        instead="place = None",
        test=f"{_STORE}::test_a_journal_that_another_process_holds_is_waited_for_once",
    ),
    Guard(
        name="what waits beside a damaged journal",
        file="acr_cli/memory/schema.py",
        text="mv {folder}/journal.* {aside}",
        instead="mv {folder}/* {aside}",
        test=f"{_STORE}::test_a_damaged_journal_costs_no_later_outcome",
    ),
    Guard(
        name="output that cannot be written",
        file="acr_cli/cli/main.py",
        text="lost = _is_lost(invocation.lost)",
        instead="lost = False",
        test="tests/cli/test_main.py::test_output_that_cannot_be_written_is_one_sentence",
    ),
    Guard(
        name="a chat whose terminal closes",
        file="acr_cli/cli/chat.py",
        text="for number in (signal.SIGTERM, signal.SIGHUP):",
        instead="for number in (signal.SIGTERM,):",
        test="tests/cli/test_streams.py::test_a_chat_whose_terminal_closes_is_interrupted",
    ),
    Guard(
        name="a patch taken back while memory could not learn of it",
        file="acr_cli/build/fixing.py",
        text='    correct_undone(settings, lambda text: emit(Notice(level="warning", text=text)))\n',
        instead="",
        test="tests/end_to_end/test_interruptions.py::test_what_a_kill_kept_from_being_done_after_a_patch_is_told_or_done_by_the_next_run",
    ),
    Guard(
        name="what an engine makes after an interrupt",
        file="acr_cli/sandbox/containers.py",
        text="while time.monotonic() < until and not remove():",
        instead="while False:",
        test=f"{_INTERRUPTS}::test_an_interrupt_while_the_engine_is_at_work_leaves_nothing",
    ),
    Guard(
        name="an interrupt while all is removed",
        file="acr_cli/interrupts.py",
        text="if threading.current_thread() is not threading.main_thread():",
        instead="if True:",
        test=f"{_INTERRUPTS}::test_who_interrupts_again_and_again_leaves_nothing",
    ),
    Guard(
        name="what another thread runs in a container",
        file="acr_cli/sandbox/volumes.py",
        text="for name in (*self._running, self._holder_name):",
        instead="for name in (self._holder_name,):",
        test=f"{_INTERRUPTS}::test_a_session_that_ends_kills_what_another_thread_runs_in_it",
    ),
    Guard(
        name="what another thread runs on this machine",
        file="acr_cli/sandbox/copies.py",
        text="for kill in [*self._kills]:",
        instead="for kill in ():",
        test=f"{_INTERRUPTS}::test_a_session_that_ends_kills_what_another_thread_runs_in_it",
    ),
    Guard(
        name="a command that ends with its engine",
        file="acr_cli/sandbox/containers.py",
        text='int(state["ExitCode"]) in _KILLED_BY_ENGINE',
        instead='int(state["ExitCode"]) in ()',
        test="tests/sandbox/test_engine_faults.py::test_a_command_that_ends_with_its_engine_has_no_result",
    ),
    Guard(
        name="libraries at work as acr ends",
        file="acr_cli/cli/main.py",
        text="    os._exit(code)",
        instead="    sys.exit(code)",
        test="tests/cli/test_main.py::test_a_library_that_is_at_work_in_the_background_does_not_crash_the_end",
    ),
    # 9: supply chain
    Guard(
        name="licences that bind",
        file="tests/benchmarks/audit.py",
        text='REFUSED = re.compile(r"\\b(AGPL|GPL|',
        instead='REFUSED = re.compile(r"\\b(',
        test=f"{_SUPPLY}::test_a_licence_that_binds_is_refused",
    ),
    Guard(
        name="a package that is not looked at",
        file="tests/benchmarks/audit.py",
        text="return not marker or",
        instead="return False and",
        test=f"{_SUPPLY}::test_a_package_that_belongs_here_is_never_skipped",
    ),
)


@cache
def stands(test: str) -> bool:
    """Whether a test passes in such a copy while every wall stands: else its failure says nothing."""
    return _tried(test, lambda _: None)


def taken_down(guard: Guard) -> bool:
    """Whether the guard's test fails without it, and not with it.

    Raises: ValueError where the wall is not found; RuntimeError where the test cannot be run."""

    def take_down(copy: Path) -> None:
        source = copy / guard.file
        text = source.read_text(encoding="utf-8")
        if guard.text not in text:
            raise ValueError(f"{guard.name}: {guard.file} holds no {guard.text!r} any more")
        source.write_text(text.replace(guard.text, guard.instead), encoding="utf-8")

    return stands(guard.test) and not _tried(guard.test, take_down)


def _tried(test: str, change: Callable[[Path], None]) -> bool:
    """Whether a test passes in a copy that was changed. Raises: RuntimeError where they cannot be run."""
    with tempfile.TemporaryDirectory(prefix="acr-guards-") as folder:
        copy = Path(folder)
        for name in ("acr_cli", "tests", "requirements"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        change(copy)
        # A test's own environment drops all that is not named; the copy must be what its programs import.
        fixtures = copy / "tests" / "conftest.py"
        kept = fixtures.read_text(encoding="utf-8").replace('*("PATH", ', '*("PATH", "PYTHONPATH", ', 1)
        fixtures.write_text(kept, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    return done.returncode == 0
