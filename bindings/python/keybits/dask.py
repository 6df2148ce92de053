# SPDX-License-Identifier: Apache-2.0
"""A collection of photographs on a Dask cluster: its shards as tasks of a distributed.Client.

    from distributed import Client
    import keybits.dask
    counts = keybits.dask.collection(Client("scheduler:8786"), ["photos"], "photos.db", shards=64, max_keypoints=4000)

Every worker needs this package, and the photographs and the database's folder at the same paths. Shards depend on their
inputs alone: one whose worker is lost runs again elsewhere, and the database has the same bytes for any number of them.
"""
import os
from typing import Any, Callable, Dict, List, Optional, Protocol, Sequence, cast

from ._checked import KeybitsValueError
from ._files import PathLike
from .collection import Collection, CollectionCounts


def _run_step(images: Sequence[str], work: str, options: Dict[str, Any], step: str, *arguments: Any) -> Any:
    """One step, or one shard of it, on this machine."""
    return getattr(Collection(images, work, **options), step)(*arguments)


def collection(client: "Client", images: Sequence[PathLike], database: PathLike, *, work: Optional[PathLike] = None,
               shards: Optional[int] = None, threads: int = 1, retries: int = 2, **options: object) -> CollectionCounts:
    """Collection(images, work, **options).run(database) in shards on a cluster.

    client is a distributed.Client. work: DATABASE.work, unless it is given. shards: 4 per thread of the cluster. Each
    shard runs with so many `threads`, and is tried again up to `retries` times."""
    if shards is None:
        shards = 4 * max(sum(client.nthreads().values()), 1)
    if shards < 1 or not images:
        raise KeybitsValueError("there must be images and at least one shard")
    target = os.path.abspath(os.fspath(database))
    folder = target + ".work" if work is None else os.path.abspath(os.fspath(work))
    paths = [os.path.abspath(os.fspath(path)) for path in images]
    count = shards

    def submit(step: str, *arguments: Any) -> "Future":
        return client.submit(_run_step, paths, folder, dict(options, threads=threads), step, *arguments, pure=False,
                             retries=retries)

    def submit_shards(step: str) -> None:
        futures = [submit(step, i, count) for i in range(count)]
        try:
            client.gather(futures)
        except BaseException:
            client.cancel(futures)
            raise

    submit_shards("describe")
    submit("choose_pairs").result()
    submit_shards("match")
    submit("expand_pairs").result()
    submit_shards("match")
    return cast(CollectionCounts, submit("merge", target).result())


class Client(Protocol):
    """What is used of a distributed.Client."""

    def nthreads(self) -> Dict[str, int]:
        """Threads of every worker."""

    def submit(self, function: Callable[..., object], *arguments: object, pure: bool, retries: int) -> "Future":
        """Runs a function on a worker."""

    def gather(self, futures: List["Future"]) -> object:
        """Waits for all of them."""

    def cancel(self, futures: List["Future"]) -> object:
        """Stops those that did not begin."""


class Future(Protocol):
    """What is used of a distributed.Future."""

    def result(self) -> object:
        """What the function returned, or raises what it raised."""
