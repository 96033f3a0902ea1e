"""Tokens and namespaces: who may do what, until when, and where."""

import asyncio

import pytest

from keeping_replica import KeepingReplicas
from lakeshore_controlplane.faults import (
    BadRequest,
    Forbidden,
    NotFound,
    RateLimited,
    Refused,
    Unauthorized,
)
from lakeshore_controlplane.services.identity import Caller, Identity
from lakeshore_controlplane.store.mongo.identity import TokenRows

ROOT = Caller("root", "*", ("admin",))


@pytest.fixture
def replicas(mongo_url, mongo_database, tmp_path):
    return KeepingReplicas(mongo_url, mongo_database, tmp_path)


async def made(one, *scopes, namespace="ns", **options):
    return await one.identity.add_token(namespace, name="t", scopes=scopes or ["producer"], **options)


async def who(one, token):
    return await one.identity.caller(f"Bearer {token}")


def test_a_token_is_shown_once_and_only_its_digest_is_kept(replicas):
    async def test(one):
        found = await made(one, "producer", "worker")
        token = found["token"]
        assert token.startswith("dlk_")
        assert len(token) == 4 + 43
        assert found["prefix"] == token[:8]
        caller = await who(one, token)
        assert caller == (found["id"], "ns", ("producer", "worker"))
        (listed,) = await one.identity.tokens("ns")
        assert "token" not in listed
        assert token not in str(await one.database.collection("tokens").find().to_list())

    replicas.run(test)


def test_scopes_let_in_and_an_admin_has_all(replicas):
    async def test(one):
        caller = await who(one, (await made(one, "producer"))["token"])
        caller.require("producer", "operator")
        with pytest.raises(Forbidden, match="worker or operator"):
            caller.require("worker", "operator")
        admin = await who(one, (await made(one, "admin"))["token"])
        admin.require("operator")
        with pytest.raises(Forbidden, match="all namespaces"):
            admin.require_everywhere()

    replicas.run(test)


def test_a_path_of_another_tenant_is_not_found(replicas):
    async def test(one):
        caller = await who(one, (await made(one))["token"])
        assert caller.namespace_for(None) == "ns"
        assert caller.namespace_for("ns") == "ns"
        with pytest.raises(NotFound, match="no namespace 'other'"):
            caller.namespace_for("other")
        assert ROOT.namespace_for(None) == "default"
        assert ROOT.namespace_for("other") == "other"

    replicas.run(test)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (None, "no token"),
        ("", "no token"),
        ("Bearer", "no token"),
        ("Basic dXNlcg==", "no token"),
        ("Bearer hello", "unknown"),
        ("Bearer dlk_" + "A" * 43, "unknown"),
        ("Bearer dlk_" + "\udc80" * 43, "unknown"),
        ("Bearer dlk_" + "A" * 100_000, "unknown"),
    ],
)
def test_what_is_no_token_of_ours_is_unauthorized(replicas, header, said):
    async def test(one):
        with pytest.raises(Unauthorized, match=said):
            await one.identity.caller(header)

    replicas.run(test)


def test_a_revocation_acts_at_once_here_and_within_five_seconds_elsewhere(replicas):
    async def test(one, two):
        found = await made(one)
        await who(one, found["token"])
        await who(two, found["token"])
        await one.identity.revoke("ns", found["id"])
        with pytest.raises(Unauthorized, match="revoked"):
            await who(one, found["token"])
        replicas.clock.advance(5.1)
        with pytest.raises(Unauthorized, match="revoked"):
            await who(two, found["token"])
        (listed,) = await one.identity.tokens("ns")
        assert listed["revoked_at"] is not None
        await one.identity.revoke("ns", found["id"])
        assert await one.identity.tokens("ns") == [listed]

    replicas.run(test)


def test_another_tenants_tokens_are_neither_listed_nor_revoked(replicas):
    async def test(one):
        found = await made(one)
        assert await one.identity.tokens("other") == []
        with pytest.raises(NotFound):
            await one.identity.revoke("other", found["id"])
        await who(one, found["token"])

    replicas.run(test)


def test_a_token_ends_when_it_expires(replicas):
    async def test(one):
        found = await made(one, expires_in_s=60)
        await who(one, found["token"])
        replicas.clock.advance(59)
        await who(one, found["token"])
        replicas.clock.advance(2)
        with pytest.raises(Unauthorized, match="expired"):
            await who(one, found["token"])

    replicas.run(test)


def test_wrong_scopes_are_refused_with_the_right_ones(replicas):
    async def test(one):
        with pytest.raises(BadRequest, match=r"\['root'\]: use any of producer, worker, admin, operator"):
            await made(one, "root")
        with pytest.raises(BadRequest, match="missing"):
            await one.identity.add_token("ns", name="t", scopes=[])

    replicas.run(test)


def test_a_storm_of_garbage_stays_away_from_the_database_and_lets_known_tokens_in(replicas):
    async def test(one):
        found = await made(one)
        await who(one, found["token"])
        asked = []
        find = TokenRows.find

        class Watched(TokenRows):
            async def find(self, digest):
                asked.append(digest)
                return await find(self, digest)

        identity = Identity(rows=Watched(one.database), bells=one.bells, clock=replicas.clock)
        await identity.caller(f"Bearer {found['token']}")
        same = [identity.caller("Bearer dlk_" + "x" * 43) for _ in range(1000)]
        refused = await asyncio.gather(*same, return_exceptions=True)
        assert {type(answer) for answer in refused} == {Unauthorized}
        assert len(asked) == 2
        storm = [identity.caller(f"Bearer dlk_{n:043d}") for n in range(20_000)]
        refused = await asyncio.gather(*storm, return_exceptions=True)
        assert {type(answer) for answer in refused} == {Unauthorized, RateLimited}
        assert len(asked) < 10_000
        assert len(identity._copies._copies) <= 4096
        replicas.clock.advance(6)
        await identity.caller(f"Bearer {found['token']}")

    replicas.run(test)


def test_a_first_token_is_made_once_whoever_starts_first(replicas):
    async def test(one, two):
        found = await asyncio.gather(one.identity.bootstrap(None), two.identity.bootstrap(None))
        (token,) = [plaintext for plaintext in found if plaintext is not None]
        caller = await who(two, token)
        assert (caller.namespace, caller.scopes) == ("*", ("admin",))
        assert await one.identity.bootstrap(None) is None

    replicas.run(test)


def test_a_first_token_may_be_given_and_stays_revoked(replicas):
    async def test(one):
        given = "dlk_" + "s" * 32
        assert await one.identity.bootstrap(given) is None
        assert (await who(one, given)).namespace == "*"
        assert await one.identity.bootstrap(None) is None
        (listed,) = await one.identity.tokens("default", everywhere=True)
        assert await one.identity.tokens("default") == []
        with pytest.raises(NotFound):
            await one.identity.revoke("default", listed["id"])
        await one.identity.revoke("default", listed["id"], everywhere=True)
        await one.identity.bootstrap(given)
        with pytest.raises(Unauthorized):
            await who(one, given)
        with pytest.raises(ValueError, match="use dlk_"):
            await one.identity.bootstrap("admin")

    replicas.run(test)


def test_a_server_without_tokens_takes_everybody_as_an_admin(replicas):
    async def test(one):
        identity = Identity(
            rows=TokenRows(one.database), bells=one.bells, clock=replicas.clock, open_to_all=True
        )
        caller = await identity.caller(None)
        caller.require_everywhere()
        assert caller.namespace_for(None) == "default"

    replicas.run(test)


def test_namespaces_are_made_by_those_who_see_all_and_found_by_those_who_may(replicas):
    async def test(one):
        await one.namespaces.require("default")
        with pytest.raises(NotFound):
            await one.namespaces.require("team")
        await one.namespaces.add(ROOT, "team")
        assert await one.namespaces.add(ROOT, "team") == await one.namespaces.add(ROOT, "team")
        await one.namespaces.require("team")
        assert [n["name"] for n in await one.namespaces.list(ROOT)] == ["default", "team"]
        tenant = Caller("t", "team", ("admin",))
        assert [n["name"] for n in await one.namespaces.list(tenant)] == ["team"]
        with pytest.raises(Forbidden):
            await one.namespaces.add(tenant, "mine")
        with pytest.raises(BadRequest, match="letters, digits"):
            await one.namespaces.add(ROOT, "a/b")

    replicas.run(test)


def test_a_namespace_is_deleted_only_when_it_is_empty(replicas):
    async def test(one):
        await one.namespaces.add(ROOT, "team")
        found = await made(one, namespace="team")
        await one.submit("a", namespace="team")
        for what, remedy in (
            ("invocations", one.cancelling.cancel("team", ["a"])),
            ("tokens", one.identity.revoke("team", found["id"])),
        ):
            with pytest.raises(Refused, match=f"still has {what}"):
                await one.namespaces.delete(ROOT, "team")
            await remedy
            await one.retention.purge("team", 0)
        await one.namespaces.delete(ROOT, "team")
        with pytest.raises(NotFound):
            await one.namespaces.require("team")
        with pytest.raises(NotFound):
            await one.namespaces.delete(ROOT, "team")
        with pytest.raises(Refused):
            await one.namespaces.delete(ROOT, "default")
        assert await one.database.collection("queues").count_documents({"namespaceId": "team"}) == 0

    replicas.run(test)
