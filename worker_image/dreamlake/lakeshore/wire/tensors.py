"""Extension for torch: dense tensors ``[dtype, shape, raw]``, for example ``["bfloat16", [2, 3], raw]``.

Tensors come back on the CPU, contiguous, owned and without a gradient history. The bytes pass through numpy
as plain bytes, because numpy has no bfloat16 or float8.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import torch

from dreamlake.lakeshore.wire.codec import Codec, add
from dreamlake.lakeshore.wire.tensor_layout import ITEM_BYTES, check_layout, in_wire_order


def _encode(tensor: torch.Tensor) -> list[Any]:
    name = str(tensor.dtype).removeprefix("torch.")
    if tensor.layout != torch.strided or name not in ITEM_BYTES:
        raise TypeError(
            f"cannot pack a {tensor.layout} tensor of {tensor.dtype}: "
            "send tensor.to_dense() or tensor.dequantize()"
        )
    if tensor.requires_grad:
        raise TypeError("cannot pack a tensor that requires grad: send tensor.detach()")
    if tensor.device.type == "meta":
        raise TypeError("cannot pack a meta tensor: it has no values")
    plain = tensor.cpu().resolve_conj().resolve_neg().contiguous()
    return [name, list(tensor.shape), _bytes_of(plain, name)]


def _bytes_of(tensor: torch.Tensor, name: str) -> bytes | memoryview:
    if tensor.numel() == 0:
        return b""
    flat = tensor.reshape(-1)
    if flat.stride(0) != 1:  # a single item counts as contiguous whatever its stride, but cannot be viewed
        flat = flat.clone(memory_format=torch.contiguous_format)
    return in_wire_order(flat.view(torch.uint8).numpy().data, name, sys.byteorder)


def _decode(payload: Any) -> torch.Tensor:
    name, shape, raw = payload
    check_layout(name, shape, raw)
    dtype: torch.dtype = getattr(torch, name)
    if math.prod(shape) == 0:
        return torch.empty(shape, dtype=dtype)
    # frombuffer keeps the bytearray alive and shares it: one copy, and nobody else can write to it.
    items = bytearray(in_wire_order(raw, name, sys.byteorder))
    return torch.frombuffer(items, dtype=dtype).reshape(shape)


add(Codec(2, torch.Tensor, encode=_encode, decode=_decode, bulk=True))
