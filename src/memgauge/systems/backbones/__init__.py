"""Backbones: sequence models trained from scratch on membership questions (ECCBench, 4.4 and C).

`mixers/` holds one file a mixer; `catalog.py` names them; `model.py` puts embedding, layers and head together;
`training.py` trains one, `system.py` asks one. Everything here needs the extra `backbones` (torch, safetensors).
"""

from __future__ import annotations

from memgauge.errors import InputError


def need_torch() -> None:
    """Raise `InputError` that says what to install when torch or safetensors is missing."""
    try:
        import safetensors  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"backbones need torch and safetensors ({error}): pip install 'memgauge[backbones]'"
        ) from error
