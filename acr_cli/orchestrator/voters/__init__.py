"""Voters, one a file: each a pure function of context and candidates, each vote in [0, 1]."""

BUILTIN = {
    "prior": "acr_cli.orchestrator.voters.prior:PriorVoter",
    "neighbours": "acr_cli.orchestrator.voters.neighbours:NeighbourVoter",
    "posterior": "acr_cli.orchestrator.voters.posterior:PosteriorVoter",
    "price": "acr_cli.orchestrator.voters.price:PriceVoter",
}
