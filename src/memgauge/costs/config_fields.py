"""Fields of a config.json: typed, bounded, and named in every error."""

from __future__ import annotations

from typing import Any

from memgauge.errors import InputError

MAX_SIZE = 10**9
MAX_ITEMS = 10_000


class Fields:
    """One section of a config. A field that is null counts as absent, as it does for the models' own code."""

    def __init__(self, values: dict[str, Any], file: str, path: str = "") -> None:
        self.values, self.file, self.path = values, file, path

    @property
    def where(self) -> str:
        """The file and section, as errors name it: `config.json: thinker_config.text_config`."""
        return f"{self.file}: {self.path}" if self.path else self.file

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self.values.get(name) is not None

    def missing(self, name: str, alternative: str = "") -> InputError:
        """Build the error for an absent field."""
        also = f" ({alternative})" if alternative else ""
        return InputError(
            f"{self.where}: the field {name!r}{also} is missing; the price needs it and does not guess it"
        )

    def require(self, name: str) -> None:
        """Raise unless the field is there; null is allowed."""
        if name not in self.values:
            raise self.missing(name)

    def section(self, name: str) -> Fields:
        """Return a nested section."""
        value = self.values.get(name)
        if value is None:
            raise self.missing(name)
        if not isinstance(value, dict):
            raise InputError(f"{self.where}: the field {name!r} is no object")
        return Fields(value, self.file, f"{self.path}.{name}" if self.path else name)

    def integer(self, name: str, low: int = 1, high: int = MAX_SIZE) -> int:
        """Return a whole number in [low, high]."""
        if not self.has(name):
            raise self.missing(name)
        return self._whole(self.values[name], name, low, high)

    def side(self, name: str) -> int:
        """Return a side that may be given as one number or as two equal ones."""
        if not self.has(name):
            raise self.missing(name)
        value = self.values[name]
        if isinstance(value, list) and len(value) == 2 and value[0] == value[1]:
            value = value[0]
        return self._whole(value, name, 1, MAX_SIZE)

    def integers(self, name: str) -> list[int]:
        """Return a list of whole numbers."""
        return [self._whole(item, name, 0, MAX_SIZE) for item in self._items(name)]

    def strings(self, name: str) -> list[str]:
        """Return a list of words."""
        items = self._items(name)
        if not all(isinstance(item, str) for item in items):
            raise InputError(f"{self.where}: the field {name!r} must be a list of words")
        return items

    def flag(self, name: str) -> bool:
        """Return a truth value; absent is false."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            raise InputError(f"{self.where}: the field {name!r} is {value!r}; it is true or false")
        return bool(value)

    def text(self, name: str, default: str) -> str:
        """Return a word, or the default where it is absent."""
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise InputError(f"{self.where}: the field {name!r} is no text")
        return value

    def _items(self, name: str) -> list[Any]:
        if not self.has(name):
            raise self.missing(name)
        value = self.values[name]
        if not isinstance(value, list) or len(value) > MAX_ITEMS:
            raise InputError(f"{self.where}: the field {name!r} must be a list of at most {MAX_ITEMS} items")
        return value

    def _whole(self, value: Any, name: str, low: int, high: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            shown = str(value)[:40]
            raise InputError(
                f"{self.where}: the field {name!r} is {shown}; it must be a whole number from {low} to {high}"
            )
        return value
