import unittest

from topological_sort import CycleError, Plan


class PlanTest(unittest.TestCase):
    def test_nothing_to_do(self):
        self.assertEqual(Plan().order(), [])
        self.assertEqual(Plan().stages(), [])

    def test_independent_tasks(self):
        self.assertEqual(Plan.of({"b": [], "a": []}).order(), ["a", "b"])

    def test_chain(self):
        self.assertEqual(Plan.of({"ship": ["build"], "build": ["fetch"]}).order(), ["fetch", "build", "ship"])

    def test_needs_are_tasks_too(self):
        plan = Plan()
        plan.add("dinner", ["cook"])
        self.assertEqual(plan.order(), ["cook", "dinner"])

    def test_task_with_two_needs(self):
        plan = Plan.of({"test": ["build", "setup"], "build": ["fetch"]})
        self.assertEqual(plan.order(), ["fetch", "build", "setup", "test"])

    def test_circle(self):
        with self.assertRaisesRegex(CycleError, "^a, b$"):
            Plan.of({"a": ["b"], "b": ["a"], "c": []}).order()

    def test_stages(self):
        plan = Plan.of({"b": ["a"], "c": ["a"]})
        self.assertEqual(plan.stages(), [["a"], ["b", "c"]])
