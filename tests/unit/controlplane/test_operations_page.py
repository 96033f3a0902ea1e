"""docs/operations.md says what is so: every setting, metric and error, and an example whose settings there are."""

import inspect
import re
from pathlib import Path

import yaml

from lakeshore_controlplane import faults
from lakeshore_controlplane.metrics import Metrics
from lakeshore_controlplane.services.tallies import Tallies
from lakeshore_controlplane.settings import Settings
from lakeshore_controlplane.settings_reference import BEGIN, END, settings_table, with_table

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "examples" / "compose.yaml").read_text(encoding="utf-8"))
VARIABLES = {f"LAKESHORE_{name.upper()}" for name in Settings.model_fields}


def test_the_page_has_the_table_of_the_settings():
    renew = "run python -m lakeshore_controlplane.settings_reference docs/operations.md"
    assert with_table(PAGE) == PAGE, renew


def test_every_setting_says_what_it_means():
    for row in settings_table().splitlines()[2:]:
        variable, _, meaning = (cell.strip() for cell in row.strip("|").rsplit("|", 2))
        assert meaning.endswith("."), variable


def test_the_page_names_no_setting_that_there_is_not():
    ours = {"LAKESHORE_URL", "LAKESHORE_CLIENT_TOKEN", "LAKESHORE_NAMESPACE"}  # of clients
    assert set(re.findall(r"LAKESHORE_[A-Z0-9_]+", PAGE)) <= VARIABLES | ours


def test_the_page_explains_every_metric():
    metrics = Metrics()
    named = {family.name for family in metrics.registry.collect()}
    named |= {f"lakeshore_{name}_total" for name in Tallies.__slots__}
    explained = set(re.findall(r"^\| `(lakeshore_\w+)` \|", PAGE, re.MULTILINE))
    assert explained == named


def test_the_page_explains_every_error_type():
    refusals = [made for _, made in inspect.getmembers(faults, inspect.isclass)]
    kinds = {made.type for made in refusals if issubclass(made, faults.Refusal)}
    explained = set(re.findall(r"^\| \d{3} `(\w+)` \|", PAGE, re.MULTILINE))
    assert kinds <= explained


def test_links_of_the_page_lead_somewhere():
    headings = {title.lower().replace(" ", "-") for title in re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)}
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        page, _, anchor = target.partition("#")
        assert (ROOT / "docs" / page).exists() if page else re.sub(r"[^\w-]", "", anchor) in headings, target


def test_the_example_sets_only_settings_that_there_are_and_values_that_they_take():
    replicas = {name: one for name, one in COMPOSE["services"].items() if name.startswith("replica")}
    assert len(replicas) >= 2
    for replica in replicas.values():
        environment = replica["environment"]
        assert set(environment) <= VARIABLES
        given = {name.removeprefix("LAKESHORE_").lower(): value for name, value in environment.items()}
        given["bootstrap_token"] = "dlk_0123456789abcdef"
        settings = Settings(**given)
        assert settings.blobs == "s3"
        assert settings.s3_presigning is False
        assert settings.stop_grace_s < float(replica["stop_grace_period"].removesuffix("s"))


def test_every_service_of_the_example_that_is_named_is_there():
    services, networks, volumes = COMPOSE["services"], COMPOSE["networks"], COMPOSE["volumes"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        assert set(service["networks"]) <= set(networks)
        assert {volume.partition(":")[0] for volume in service.get("volumes", ())} <= set(volumes)
        assert {one["source"] for one in service.get("configs", ())} <= set(COMPOSE["configs"])
    replica = services["replica-1"]["environment"]
    hosts = {
        re.search(r"//([\w-]+):", str(replica[name]))[1]
        for name in replica
        if name.endswith(("_URL", "ENDPOINT"))
    }
    assert hosts == {"mongo", "redis", "minio"}
    assert (
        ROOT
        / "examples"
        / services["replica-1"]["build"]["context"]
        / services["replica-1"]["build"]["dockerfile"]
    ).exists()


def test_the_balancer_of_the_example_waits_longer_than_any_long_poll_and_knows_every_replica():
    content = COMPOSE["configs"]["balancer"]["content"]
    for side in ("client", "server"):
        assert (
            float(re.search(rf"timeout {side} (\d+)s", content)[1])
            > Settings.model_fields["longest_wait_s"].default
        )
    replicas = {name for name in COMPOSE["services"] if name.startswith("replica")}
    assert set(re.findall(r"^ +server ([\w-]+) ", content, re.MULTILINE)) == replicas
    assert "prefer-last-server" in content


def test_the_marks_stand_once():
    assert PAGE.count(BEGIN) == PAGE.count(END) == 1
