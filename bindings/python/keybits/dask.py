"""keybits collection on a Dask cluster: the program's shards as tasks of a distributed.Client.

    from distributed import Client
    import keybits.dask
    summary = keybits.dask.collection(Client("scheduler:8786"), ["photos"], "photos.db", shards=64)

Every worker needs the program, and the photographs and the database's folder at the same paths. Shards depend on their
inputs alone: one whose worker is lost runs again elsewhere, and the database has the same bytes for any number of them.
"""
import json
import os
import subprocess
from typing import Callable, Dict, List, Optional, Protocol, Sequence, Union

from ._checked import KeybitsError, KeybitsValueError
from ._files import PathLike


def run_step(arguments: Sequence[str], step: str, shard: str = "") -> str:
    """One step, or one shard of it, on this machine; what the program printed."""
    command = [*arguments, "--step", step, *(["--shard", shard] if shard else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise KeybitsError(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise KeybitsError(f"step {step} {shard} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _run_shards(client: "Client", arguments: Sequence[str], step: str, shards: int, retries: int) -> None:
    names = [f"{i + 1}/{shards}" for i in range(shards)]
    futures = [client.submit(run_step, list(arguments), step, name, pure=False, retries=retries)
                          for name in names]
    try:
        client.gather(futures)
    except BaseException:
        client.cancel(futures)
        raise


class Client(Protocol):
    """What is used of a distributed.Client."""

    def nthreads(self) -> Dict[str, int]:
        """Threads of every worker."""

    def submit(self, function: Callable[..., str], *arguments: object, pure: bool, retries: int) -> "Future":
        """Runs a function on a worker."""

    def gather(self, futures: List["Future"]) -> object:
        """Waits for all of them."""

    def cancel(self, futures: List["Future"]) -> object:
        """Stops those that did not begin."""


class Future(Protocol):
    """What is used of a distributed.Future."""

    def result(self) -> str:
        """What the function returned, or raises what it raised."""


def collection(client: Client, images: Sequence[PathLike], database: PathLike, *, shards: Optional[int] = None,
               options: Sequence[str] = (), program: str = "keybits", threads: int = 1, retries: int = 2
               ) -> Dict[str, Union[int, float]]:
    """Runs `keybits collection IMAGES -o DATABASE OPTIONS` in shards and returns its summary.

    client is a distributed.Client. shards: 4 per thread of the cluster, unless it is given. Each shard runs with so many
    `threads`, and is tried again up to `retries` times. The summary is that of the program's --json: images, failed,
    keypoints, pairs, verified_pairs, matches, seconds (of the last step)."""
    if shards is None:
        shards = 4 * max(sum(client.nthreads().values()), 1)
    if shards < 1 or not images:
        raise KeybitsValueError("there must be images and at least one shard")
    paths = [os.path.abspath(os.fspath(path)) for path in images]
    arguments = [program, "collection", *paths, "-o", os.path.abspath(os.fspath(database)), *options, "--quiet",
                 "--threads", str(threads)]
    _run_shards(client, arguments, "describe", shards, retries)
    client.submit(run_step, arguments, "pairs", pure=False, retries=retries).result()
    _run_shards(client, arguments, "match", shards, retries)
    printed = client.submit(run_step, [*arguments, "--json"], "merge", pure=False, retries=retries).result()
    summary: Dict[str, Union[int, float]] = json.loads(printed)
    return summary
