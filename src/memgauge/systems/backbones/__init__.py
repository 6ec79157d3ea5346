"""Backbones: sequence models trained from scratch on membership questions (ECCBench, 4.4 and C).

`mixers/` holds one file a mixer; `catalog.py` names them; `model.py` puts embedding, layers and head together;
`training.py` trains one, `system.py` asks one. Everything here needs the extra `backbones` (torch, safetensors).
"""
