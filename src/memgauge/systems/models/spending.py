"""What a run may spend on a model: requests and tokens."""

from __future__ import annotations

from dataclasses import dataclass

from memgauge.errors import RunStoppedError


@dataclass(slots=True)
class Spending:
    """Counts what one invocation spends, and stops the run when a budget is used up.

    Every try is a request, also those that fail. Tokens are those that the server reports; requests that are in flight
    when the budget is reached are still answered, so tokens may pass it by as much as those bring.
    """

    max_requests: int | None = None
    max_tokens: int | None = None
    requests: int = 0
    tokens: int = 0

    def ask(self) -> None:
        """Count one request. Raises `RunStoppedError` when a budget is used up."""
        for name, limit, spent in (
            ("max_requests", self.max_requests, self.requests),
            ("max_total_tokens", self.max_tokens, self.tokens),
        ):
            if limit is not None and spent >= limit:
                raise RunStoppedError(
                    f"the budget {name}={limit} is used up after {self.requests:,} requests and {self.tokens:,} "
                    "tokens; what was answered is kept, and the same command goes on from there with a fresh budget"
                )
        self.requests += 1

    def answered(self, *tokens: int | None) -> None:
        """Count the tokens that the server reports for one answer."""
        self.tokens += sum(count for count in tokens if count is not None)
