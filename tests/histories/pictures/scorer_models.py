"""Tiny models of the filter's classes with random weights, saved as `save_pretrained` saves them."""

from __future__ import annotations

import torch
import transformers

WORDS = ["[PAD]", "[UNK]", "[EOS]", "[BOS]", "a", "photo", "of", "an", "owl", "tea", "pot", "red", "cat"]
IMAGE = "<image>"
SMALL = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}


def tokenizer(folder, *extra):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate([*WORDS, *extra])}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[BOS] $A [EOS]", special_tokens=[("[BOS]", 3), ("[EOS]", 2)]
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="[PAD]",
        unk_token="[UNK]",
        eos_token="[EOS]",
        bos_token="[BOS]",
        model_max_length=16,
    )
    fast.save_pretrained(folder)


def vision(**more):
    return {**SMALL, "image_size": 32, "patch_size": 8, **more}


def text(**more):
    ids = {"pad_token_id": 0, "bos_token_id": 3, "eos_token_id": 2}
    return {**SMALL, **ids, "vocab_size": 16, "max_position_embeddings": 16, **more}


def save_models(root):
    """Save a CLIP, a SigLIP, a BLIP-2 and a text encoder (DeBERTa), each in a folder with its own preprocessing."""
    torch.manual_seed(0)
    t = transformers
    clip = t.CLIPModel(t.CLIPConfig(text_config=text(), vision_config=vision(), projection_dim=8))
    siglip = t.SiglipModel(t.SiglipConfig(text_config=text(), vision_config=vision()))
    blip = t.Blip2ForConditionalGeneration(
        t.Blip2Config(
            vision_config=vision(),
            qformer_config={**SMALL, "encoder_hidden_size": 16, "vocab_size": 16},
            text_config={
                "model_type": "opt", **text(), "ffn_dim": 32, "word_embed_proj_dim": 16, "max_position_embeddings": 64,
            },
            num_query_tokens=4,
            image_token_index=len(WORDS),
        )
    )  # fmt: skip
    encoder = t.DebertaV2Model(t.DebertaV2Config(**text()))
    for name, model in (("clip", clip), ("siglip", siglip), ("blip2", blip), ("encoder", encoder)):
        model.save_pretrained(root / name)
        tokenizer(root / name, *([IMAGE] if name == "blip2" else []))
    size = {"height": 32, "width": 32}
    t.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=size).save_pretrained(root / "clip")
    t.SiglipImageProcessor(size=size).save_pretrained(root / "siglip")
    t.BlipImageProcessor(size=size).save_pretrained(root / "blip2")
    return root
