"""A hostile repository's surroundings: models by script, a pool on loopback, a run's own tree."""

from tests.agent.conftest import budget, sandbox, tree
from tests.end_to_end.conftest import broken, pool
from tests.models.conftest import litellm_is_imported

__all__ = ["broken", "budget", "litellm_is_imported", "pool", "sandbox", "tree"]
