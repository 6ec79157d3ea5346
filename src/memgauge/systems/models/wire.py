"""What every client of an endpoint does alike: the address, the key kept out of messages, broken connections."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from memgauge.errors import InputError
from memgauge.systems.models.faults import Fault, quoted

if TYPE_CHECKING:
    import openai


def checked_url(text: str) -> str:
    """Return the base address. Raises `InputError` that says what is wrong with it, and repeats nothing of it."""
    text = text.strip().rstrip("/")
    for ending in ("/chat/completions", "/embeddings"):
        text = text.removesuffix(ending)
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise InputError("base_url must be an address such as http://127.0.0.1:8000/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InputError(
            "base_url holds a user name, a query or a fragment, which would be kept in run.json or a manifest; give "
            "the plain address, and the key by api_key_env"
        )
    return text


def without_secret(data: bytes, secret: bytes) -> bytes:
    """Return what a server said without the key."""
    return data.replace(secret, b"***") if secret else data


def connection_fault(error: openai.APIConnectionError, secret: bytes) -> Fault:
    """Name a connection that could not be made, or that broke."""
    import httpx2

    cause = error.__cause__ or error
    said = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
    text = quoted(without_secret(said.encode("utf-8", "replace"), secret))
    if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol):
        return Fault(f"cannot connect ({text})", "setup")
    return Fault(f"the connection broke ({text})")
