"""Ray: a local cluster with one CPU, which runs one task at a time."""

from __future__ import annotations

from collections.abc import Sequence

import ray
from timing import Ways, scratch, time_peer


@ray.remote
def add(a: int, b: int) -> int:
    return a + b


def batch(numbers: Sequence[int]) -> list[int]:
    return list(ray.get([add.remote(i, 3) for i in numbers], timeout=120))


if __name__ == "__main__":
    ray.init(
        num_cpus=1,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        _node_ip_address="127.0.0.1",
        _temp_dir=str(scratch()),
        object_store_memory=200 * 2**20,
    )
    try:
        time_peer("ray", Ways(add.remote, lambda handle, limit: int(ray.get(handle, timeout=limit)), batch))
    finally:
        ray.shutdown()
