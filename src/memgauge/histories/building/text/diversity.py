"""How varied text is: distinct-n (Li et al., 2016)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memgauge.histories.building.text.validators.normal import plain


class Distinct:
    """Counts different n-grams over texts that come one by one; it falls with the amount of text, so state both.

    >>> count = Distinct(2)
    >>> count.add(["Read the label.", "Read the map."])
    >>> count.share, count.total
    (0.75, 4)
    """

    def __init__(self, n: int = 2) -> None:
        self._n = n
        self._seen: set[tuple[str, ...]] = set()
        self.total = 0
        """N-grams in all."""

    def add(self, texts: Iterable[str]) -> None:
        """Count texts; no n-gram reaches over the end of one."""
        for text in texts:
            self.add_words(plain(text).split())

    def add_words(self, words: Sequence[str]) -> None:
        """Count the n-grams of a text that is split already."""
        grams = list(zip(*(words[i:] for i in range(self._n)), strict=False))
        self.total += len(grams)
        self._seen.update(grams)

    @property
    def share(self) -> float:
        """Different n-grams per n-gram; 0 for no text."""
        return len(self._seen) / self.total if self.total else 0.0
