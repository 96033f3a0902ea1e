"""Dask: a local cluster of one worker process with one thread."""

from __future__ import annotations

from collections.abc import Sequence

from distributed import Client, LocalCluster
from timing import Ways, scratch, time_peer


def add(a: int, b: int) -> int:
    return a + b


def main() -> None:
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
            local_directory=str(scratch()),
        ) as cluster,
        Client(cluster) as client,
    ):

        def batch(numbers: Sequence[int]) -> list[int]:
            return list(client.gather(client.map(add, list(numbers), [3] * len(numbers), pure=False)))

        time_peer(
            "distributed",
            Ways(
                lambda a, b: client.submit(add, a, b, pure=False),
                lambda future, limit: int(future.result(timeout=limit)),
                batch,
            ),
        )


if __name__ == "__main__":
    main()
