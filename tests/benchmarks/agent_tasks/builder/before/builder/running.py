"""Running a plan."""

import subprocess


def run(plan, folder, *, execute=subprocess.run):
    """Run every step in the folder; the number of steps. Stops at the first that fails."""
    done = 0
    for step in plan.steps():
        execute(step, shell=True, cwd=folder, check=True)
        done += 1
    return done
