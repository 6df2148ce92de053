# SPDX-License-Identifier: Apache-2.0
"""Learning descriptors from patches (docs/learning.md)."""
import ctypes
import queue
from dataclasses import replace
from functools import partial
from typing import Any, Callable, Dict, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from . import _abi
from ._arrays import address
from ._checked import KeybitsError, KeybitsValueError
from ._library import check, lib, long_call, new, parallel, whole
from .models import SAMPLERS, Model, box_dtype
from .patches import PatchSet, checked

_LOSSES = {"triplet": _abi.KB_LEARN_LOSS_TRIPLET, "binary": _abi.KB_LEARN_LOSS_BINARY, "orb": _abi.KB_LEARN_LOSS_ORB}


class Progress(NamedTuple):
    """What a progress callback gets."""
    step: int            # bits chosen (BAD, BAG), or batches done (HashSIFT)
    steps: int           # wanted
    loss: float
    active: float        # share of triplets or pairs that still have a loss
    checkpoint: bytes    # HashSIFT: the state to resume from; else empty


class LearningStopped(KeybitsError):
    """The progress callback stopped the learning before there was a model."""


#: Called after every bit, or about a hundred times (HashSIFT); False stops the learning, anything else goes on.
Report = Callable[[Progress], Optional[bool]]
#: Gets n x 32 x 32 patches and a seed, and returns as many changed ones.
Augment = Callable[[npt.NDArray[np.uint8], int], npt.NDArray[np.uint8]]

_Patch = ctypes.c_uint8 * (_abi.KB_PATCH_SIDE * _abi.KB_PATCH_SIDE)


class _Callbacks:
    """Python functions as C callbacks, which the thread that called the learning runs. When one raises, or Ctrl-C comes,
    the learning stops at the next report."""

    def __init__(self, progress_kind: Any, report: Optional[Report], augment: Optional[Augment]) -> None:
        self.requests: "queue.SimpleQueue[Optional[Callable[[], None]]]" = queue.SimpleQueue()
        self._stopped = False
        self._progress_kind, self._report, self._augment = progress_kind, report, augment
        kind = _abi.kb_learn_report if progress_kind is _abi.kb_learn_progress else _abi.kb_learn_hash_report
        self.report = kind(self._run_report)
        self.augment = _abi.kb_learn_augment(self._run_augment) if augment else None

    def call(self, function: Any, *arguments: Any, keep: Any) -> int:
        try:
            return long_call(function, *arguments, keep=(self, keep), requests=self.requests)
        finally:
            self._stopped = True

    def _ask(self, function: Callable[[], Any]) -> Any:
        """What the function gives in the calling thread; None when that one waits no more."""
        reply: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self.requests.put(lambda: reply.put(function()))
        while not self._stopped:
            try:
                return reply.get(timeout=0.1)
            except queue.Empty:
                pass
        return None

    def _run_report(self, _: Any, where: int) -> int:
        report = self._report
        if report is None or self._stopped:
            return int(not self._stopped)
        state = self._progress_kind.from_address(where)
        if self._progress_kind is _abi.kb_learn_progress:
            told = Progress(state.bit, state.bits, state.loss, state.active, b"")
        else:
            told = Progress(state.step, state.steps, state.loss, state.active,
                            ctypes.string_at(state.checkpoint, state.checkpoint_size))
        return 0 if self._ask(partial(report, told)) is False or self._stopped else 1

    def _run_augment(self, _: Any, patches: int, n: int, seed: int, __: Any, out: int) -> None:
        given = np.ctypeslib.as_array((_Patch * n).from_address(patches)).reshape(n, 32, 32)
        result = np.ctypeslib.as_array((_Patch * n).from_address(out)).reshape(n, 32, 32)
        assert self._augment is not None
        changed = self._ask(partial(_augmented, self._augment, given, seed))
        result[:] = given if changed is None else changed


def _augmented(augment: Augment, patches: npt.NDArray[np.uint8], seed: int) -> npt.NDArray[np.uint8]:
    changed = np.asarray(augment(patches, seed))
    if changed.shape != patches.shape or changed.dtype != np.uint8:
        raise KeybitsValueError(f"augment returned {changed.dtype} of the shape {changed.shape} instead of uint8 of "
                                f"{patches.shape}")
    return changed


class _Input:
    """Patches of 32 x 32, or octaves, in the order of their labels, as kb_learn_patches takes them."""

    def __init__(self, kind: str, patches: PatchSet) -> None:
        given = checked(patches)
        side = given.patches.shape[-1]
        if (kind == "bag") != (given.patches.ndim == 4):
            raise KeybitsValueError(f"patches: {kind} is learned from " + (
                f"octaves, n x 4 x 16 x 16, not from patches of side {side}; see keybits.sample_octaves"
                if kind == "bag" else "patches, n x 32 x 32, not from octaves"))
        if kind != "bag" and side != _abi.KB_PATCH_SIDE:
            raise KeybitsValueError(f"patches: {kind} is learned from patches of side 32, not {side}; see "
                                    "keybits.shrink_patches")
        order = np.argsort(given.labels, kind="stable")
        self.pixels = np.ascontiguousarray(given.patches[order])
        self.labels = np.ascontiguousarray(given.labels[order])
        self.support = given.support or 1.0
        self.view = new(_abi.kb_learn_patches, pixels=address(self.pixels), labels=address(self.labels),
                        count=len(given))


def shrink_patches(patches: PatchSet) -> PatchSet:
    """A set whose side is a multiple of 32, brought to 32 by area averaging as describing does."""
    given = checked(patches)
    if given.patches.ndim == 4:
        raise KeybitsValueError("patches are octaves, which cannot be shrunk")
    factor, rest = divmod(given.patches.shape[1], _abi.KB_PATCH_SIDE)
    if rest or not factor:
        raise KeybitsValueError(f"the side must be a multiple of 32, not {given.patches.shape[1]}")
    blocks = given.patches.reshape(len(given), 32, factor, 32, factor)
    sums = blocks.sum(axis=(2, 4), dtype=np.uint32)
    small = ((2 * sums + factor * factor) // (2 * factor * factor)).astype(np.uint8)
    return replace(given, patches=small)


def _loss(loss: str, allowed: "tuple[str, ...]") -> int:
    if loss not in allowed:
        raise KeybitsValueError(f"no loss {loss!r}; there are {', '.join(allowed)}")
    return int(_LOSSES[loss])


def _in_turns(boxes: npt.NDArray[np.void], octaves: int) -> npt.NDArray[np.void]:
    """The boxes of a model in the order of choice: octaves take turns byte by byte there, bit by bit here."""
    return np.ascontiguousarray(boxes.reshape(-1, octaves, 8).swapaxes(1, 2)).ravel()


def _by_bytes(boxes: npt.NDArray[np.void], octaves: int) -> npt.NDArray[np.void]:
    """The other way round: from the order of choice to that of a model."""
    return np.ascontiguousarray(boxes.reshape(-1, 8, octaves).swapaxes(1, 2)).ravel()


def _learn_boxes(kind: str, patches: PatchSet, bits: int, name: Optional[str], loss: str, seed: int,
                 progress: Optional[Report], augment: Optional[Augment], start: Optional[Model],
                 sampler: str, paper: bool, options: Dict[str, Any]) -> Model:
    given, bits = _Input(kind, patches), whole("bits", bits, 8, _abi.KB_MAX_BITS)
    known = {field for field, _ in _abi.kb_learn_options._fields_}
    for option in options:
        if option not in known:
            raise KeybitsValueError(f"no option {option!r} in kb_learn_options")
    if start is not None and start.kind != kind:
        raise KeybitsValueError(f"start is a model of the kind {start.kind}, not {kind}")
    calls = _Callbacks(_abi.kb_learn_progress, progress, augment)
    octaves = _abi.KB_OCTAVES if kind == "bag" else 1
    before = None if start is None else _in_turns(start.boxes, octaves)
    settings = new(_abi.kb_learn_options, kind=_abi.KB_KIND_BAD if kind == "bad" else _abi.KB_KIND_BAG, bits=bits,
                   seed=seed, loss=_loss(loss, ("triplet", "binary", "orb")), report=calls.report, augment=calls.augment,
                   start=address(before) if before is not None else None, started=0 if before is None else len(before),
                   parallel=parallel(), sampler=SAMPLERS[sampler], **options)
    if paper:
        lib.kb_learn_paper(ctypes.byref(settings))
    boxes = np.zeros(bits, box_dtype)
    summary, error = new(_abi.kb_learn_summary), _abi.kb_error()
    status = calls.call(lib.kb_learn_boxes, ctypes.byref(given.view), ctypes.byref(settings), address(boxes),
                        ctypes.byref(summary), ctypes.byref(error), keep=(given, boxes, before))
    check(status, error, f"learn_{kind}")
    step = 8 * octaves
    chosen = summary.bits // step * step
    if chosen == 0:
        raise LearningStopped(f"the learning was stopped after {summary.bits} bits; a model has {step} at least")
    boxes = boxes[:chosen] if summary.bits == bits else _by_bytes(boxes[:chosen], octaves)
    text = (f"{kind}, {chosen} bits, loss {loss}, seed {seed}: {summary.points} points, {summary.patches} patches, "
            f"{summary.triplets} triplets per bit")
    return Model.from_tables(kind, name=name or f"{kind}{chosen}", boxes=boxes, support=given.support,
                             sampler=sampler, text=text)


def learn_bad(patches: PatchSet, bits: int = 256, *, name: Optional[str] = None, loss: str = "triplet", seed: int = 0,
              progress: Optional[Report] = None, augment: Optional[Augment] = None, start: Optional[Model] = None,
              sampler: Optional[str] = None, paper: bool = False, **options: float) -> Model:
    """Learns a BAD model: boxes one bit after the other.

    loss: "triplet" (the paper's), "binary" (as BEBLID) or "orb" (no labels). progress: called after every bit; when it
    returns False the model has the bits so far, in whole bytes. start: a model with the first bits, to go on from.
    sampler: of the model, "cells" (the faster one), "patch" or "image"; by default that of start, else "cells".
    augment: changes patches before a bit is chosen on them. paper: the recipe of the paper (docs/paper.md), with its
    augmentation unless there is one, and the sampler "patch".
    options: triplets, batch, candidates, margin, min_radius, max_radius, local_search, two_radii and so on, as in
    kb_learn_options. The same patches, options and seed give the same model everywhere. Ctrl-C ends it."""
    if sampler is None:
        sampler = start.sampler if start is not None else "patch" if paper else "cells"
    known = [name for name in SAMPLERS if name != "octaves"]
    if sampler not in known:
        raise KeybitsValueError(f"no sampler {sampler!r} for bad; there are {', '.join(known)}")
    return _learn_boxes("bad", patches, bits, name, loss, seed, progress, augment, start, sampler, paper, options)


def learn_bag(patches: PatchSet, bits: int = 256, *, name: Optional[str] = None, loss: str = "triplet", seed: int = 0,
              progress: Optional[Report] = None, start: Optional[Model] = None, **options: float) -> Model:
    """Learns a BAG model, boxes over channels of oriented gradient, from octaves (sample_octaves). bits is a multiple of
    32, and so is what a stopped learning keeps. There is no augment and no sampler; otherwise as learn_bad."""
    for option in ("augment", "sampler", "paper"):
        if option in options:
            raise KeybitsValueError(f"{option} is not for bag, which is learned from octaves as they are")
    return _learn_boxes("bag", patches, bits, name, loss, seed, progress, None, start, "octaves", False, options)


def learn_hashsift(patches: PatchSet, bits: int = 256, *, name: Optional[str] = None, loss: str = "triplet",
                   seed: int = 0, steps: int = 0, root: bool = False, progress: Optional[Report] = None,
                   augment: Optional[Augment] = None, resume: bytes = b"", paper: bool = False,
                   **options: float) -> Model:
    """Learns a HashSIFT model, a linear map of SIFT, by Adam. steps: 0 is 30000; 3000 give most of it.

    progress: called about a hundred times; its checkpoint continues the learning as `resume`. When it returns False
    the model is that of the last step. options: batch, margin, rate, versions and so on, as in kb_learn_hash_options.
    paper: the recipe of the paper (docs/paper.md), with its augmentation unless there is one. Ctrl-C ends it."""
    given, bits = _Input("hashsift", patches), whole("bits", bits, 8, _abi.KB_MAX_BITS)
    known = {field for field, _ in _abi.kb_learn_hash_options._fields_}
    for option in options:
        if option not in known:
            raise KeybitsValueError(f"no option {option!r} in kb_learn_hash_options")
    calls = _Callbacks(_abi.kb_learn_hash_progress, progress, augment)
    state = np.frombuffer(resume, np.uint8)
    settings = new(_abi.kb_learn_hash_options, bits=bits, root=int(root), loss=_loss(loss, ("triplet", "binary")),
                   seed=seed, steps=steps, report=calls.report, augment=calls.augment, checkpoint=address(state),
                   checkpoint_size=len(state), parallel=parallel(), **options)
    if paper:
        lib.kb_learn_hash_paper(ctypes.byref(settings))
    weights, bias = np.zeros((bits, _abi.KB_SIFT_VALUES), np.int8), np.zeros(bits, np.int32)
    summary, error = new(_abi.kb_learn_hash_summary), _abi.kb_error()
    status = calls.call(lib.kb_learn_hashsift, ctypes.byref(given.view), ctypes.byref(settings), address(weights),
                        address(bias), ctypes.byref(summary), ctypes.byref(error), keep=(given, state, weights, bias))
    check(status, error, "learn_hashsift")
    text = (f"hashsift, {bits} bits, loss {loss}, seed {seed}: {summary.points} points, {summary.patches} patches, "
            f"{summary.steps} steps of {summary.batch} pairs")
    return Model.from_tables("hashsift", name=name or f"hashsift{bits}", weights=weights, bias=bias, root=root,
                             support=given.support, text=text)
