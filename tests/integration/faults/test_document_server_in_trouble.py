"""The document server goes away under load and comes back: nothing that was acknowledged is lost."""

import time


def test_store_killed_and_restarted_under_load_loses_nothing(site, document_server, redis_url):
    replicas = site.replica(2, redis_url=redis_url)
    producers = site.crowd(site.balancer(*replicas).url, frames=1000)
    site.until(lambda: len(site.notes()) > 100, "jobs to run")
    document_server.kill()
    site.until(lambda: any("does not answer" in one.log_tail() for one in replicas), "a replica to notice")
    document_server.start()
    site.assert_nothing_lost(producers)
    assert all(one.runs for one in [*replicas, *site.programs[:2]])


def test_store_frozen_for_seconds_under_load_loses_nothing(site, document_server, redis_url):
    replica = site.replica(redis_url=redis_url)
    producers = site.crowd(replica.url, jobs=150, frames=500, lease=2)
    document_server.freeze()
    time.sleep(4)  # it is the length of the silence that matters: longer than a lease
    document_server.thaw()
    site.assert_nothing_lost(producers)
    assert all(one.runs for one in [replica, *site.programs[:2]])
