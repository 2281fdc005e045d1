"""A language model of the Qwen3.5 architecture with random weights, small enough to train in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def write_tiny_model(folder: Path, texts: Sequence[str], *, seed: int = 0, hidden: int = 64) -> Path:
    """Write model and tokenizer, whose words are learned from `texts`, as transformers keeps them.

    Two layers, one of linear and one of full attention. Needs the extra `local`."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3_5ForCausalLM, Qwen3_5TextConfig

    words = Tokenizer(models.BPE(unk_token=None))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=["<pad>", "<eos>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>")  # noqa: S106
    torch.manual_seed(seed)
    config = Qwen3_5TextConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=2,
        layer_types=["linear_attention", "full_attention"],
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        linear_key_head_dim=16,
        linear_value_head_dim=16,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        pad_token_id=0,
        eos_token_id=1,
        initializer_range=0.1,
    )
    Qwen3_5ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
