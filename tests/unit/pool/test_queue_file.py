"""queue.yaml: every field, and one clear line for every mistake."""

import pytest

from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.pool.queue_file import parse_queues, read_queue_file
from full_queue import FULL
from lakeshore_elasticity import Fixed, FullyElastic, MaxCount, PoolWithThreshold

HEAD = "apiVersion: lakeshore.dreamlake.ai/v1alpha1\nkind: Queue\n"


def parse(text):
    return parse_queues(text, where="queue.yaml")


def one(spec="", name="q"):
    (found,) = parse(f"{HEAD}metadata: {{name: {name}}}\nspec: {spec}\n")
    return found


def refusal(text):
    with pytest.raises(ConfigError) as caught:
        parse(text)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("queue.yaml")
    return message


def spec_refusal(spec):
    return refusal(f"{HEAD}metadata: {{name: q}}\nspec: {spec}\n")


def test_the_documented_example_is_accepted_and_its_unused_fields_are_said():
    (found,) = parse(FULL)
    assert (found.name, found.record.kind, found.worker.concurrency) == ("gpu", "fifo", 1)
    assert found.worker.drain_timeout_s == 3600.0
    assert found.policy == PoolWithThreshold(max=16, warm=1, threshold=8, idle_timeout_s=120.0)
    assert found.unused == (
        "spec.admission",
        "spec.worker.image",
        "spec.worker.resources",
        "spec.worker.allowPickled",
        "spec.worker.storage",
        "spec.worker.template",
    )


def test_a_queue_with_a_name_alone_has_one_worker_and_first_in_first_out():
    (found,) = parse(HEAD + "metadata: {name: q}\n")
    assert (found.record.kind, found.policy, found.worker.concurrency) == ("fifo", Fixed(1), 1)
    assert found.worker.drain_timeout_s is None
    assert found.unused == ()


@pytest.mark.parametrize(
    "blank", ["", "{}", "{worker: }", "{elasticity: }", "{kindParams: }", "{worker: {}}"]
)
def test_a_section_left_blank_has_its_defaults(blank):
    assert one(blank).policy == Fixed(1)


@pytest.mark.parametrize("kind", ["fifo", "priority", "filo", "boltzmann"])
def test_each_kind_of_queue(kind):
    assert one(f"{{kind: {kind}}}").record.kind == kind


def test_the_temperature_of_a_boltzmann_queue():
    assert one("{kind: boltzmann, kindParams: {temperature: 0.5}}").record.temperature == 0.5


@pytest.mark.parametrize(
    ("elasticity", "policy"),
    [
        ("{kind: fixed, replicas: 3}", Fixed(3)),
        ("{kind: fully_elastic, idleTimeoutSeconds: 5, cap: 7}", FullyElastic(5.0, 7)),
        ("{kind: max_count, max: 2, idleTimeoutSeconds: 0.5}", MaxCount(2, 0.5)),
        ("{kind: pool_with_threshold, max: 2, ageLimitSeconds: 9}", PoolWithThreshold(2, age_limit_s=9.0)),
    ],
)
def test_each_policy(elasticity, policy):
    assert one(f"{{elasticity: {elasticity}}}").policy == policy


def test_metadata_that_only_a_cluster_reads_is_said_to_be_unused():
    (found,) = parse(HEAD + "metadata: {name: q, namespace: n, labels: {a: b}, annotations: {c: d}}\n")
    assert found.unused == ("metadata.namespace", "metadata.labels", "metadata.annotations")


def test_several_documents_in_order_with_blank_ones_between():
    text = "---\n" + "\n---\n---\n".join(HEAD + f"metadata: {{name: {name}}}" for name in "cab")
    assert [found.name for found in parse(text)] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("{elasticty: {kind: fixed}}", "unknown field spec.elasticty: did you mean elasticity?"),
        ("{worker: {concurency: 2}}", "unknown field spec.worker.concurency: did you mean concurrency?"),
        (
            "{worker: {drainTimeout: 2}}",
            "unknown field spec.worker.drainTimeout: did you mean drainTimeoutSeconds?",
        ),
        (
            "{kindParams: {temprature: 2}}",
            "unknown field spec.kindParams.temprature: did you mean temperature?",
        ),
        (
            "{elasticity: {kind: fixed, replica: 1}}",
            "spec.elasticity.replica: there is no such field of kind fixed: did you mean replicas?",
        ),
        (
            "{elasticity: {kind: fixed, scaleDown: {stabilisationSeconds: 1}}}",
            "spec.elasticity.scaleDown.stabilisationSeconds: there is no such field: did you mean stabilization",
        ),
        (
            "{elasticity: {kind: max_cuont}}",
            "spec.elasticity.kind: 'max_cuont' is not a policy: did you mean max_count?",
        ),
        ("{elasticity: {kind: max-count}}", "values are written with underscores"),
        ("{kind: fif}", "spec.kind is 'fif': did you mean fifo?"),
        ("{admission: {maxDeph: 1}}", "unknown field spec.admission.maxDeph: did you mean maxDepth?"),
        (
            "{admission: {rateLimit: {rat: 1}}}",
            "unknown field spec.admission.rateLimit.rat: did you mean rate?",
        ),
    ],
)
def test_a_typo_is_answered_with_its_path_and_the_nearest_name(spec, said):
    assert said in spec_refusal(spec)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "metdata: {name: q}\n", "unknown field metdata: did you mean metadata?"),
        (HEAD + "metadata: {nam: q}\n", "unknown field metadata.nam: did you mean name?"),
        ("apiVersion: lakeshore.dreamlake.ai/v1alpha1\nkind: Qeue\n", "kind is 'Qeue', expected Queue"),
        ("apiVersion: lakeshore.dreamlake.ai/v1alpha1\nkind: Worker\n", "kind is 'Worker', expected Queue"),
        ("apiversion: v1\nkind: Queue\n", "unknown field apiversion: did you mean apiVersion?"),
        ("kind: Queue\n", "apiVersion is missing, expected lakeshore.dreamlake.ai/v1alpha1"),
        ("apiVersion: lakeshore.dreamlake.ai/v1alpha1\n", "kind is missing, expected Queue"),
        ("apiVersion: v1\nkind: Queue\n", "apiVersion is 'v1', expected lakeshore.dreamlake.ai/v1alpha1"),
        (HEAD, "metadata.name is missing"),
        (HEAD + "metadata: {name: }\n", "metadata.name is missing"),
        (HEAD + "metadata: {name: 5}\n", "metadata.name is 5, expected text"),
        (HEAD + "metadata: {name: a b}\n", "metadata.name: queue name 'a b'"),
        (HEAD + "metadata: [name]\n", "metadata is a list, expected fields"),
        (HEAD + "metadata: {name: q}\nspec: [a]\n", "spec is a list, expected fields"),
        ("- a\n- b\n", "a document is not a set of fields"),
        ("just text\n", "a document is not a set of fields"),
        ("", "no Queue in it"),
        ("---\n---\n", "no Queue in it"),
    ],
)
def test_a_document_that_is_no_queue_is_answered_in_one_line(text, said):
    assert said in refusal(text)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("{worker: 3}", "spec.worker is a number, expected fields"),
        (
            "{worker: {concurrency: two}}",
            "spec.worker.concurrency is 'two', expected a whole number from 1 to 1024",
        ),
        ("{worker: {concurrency: 0}}", "spec.worker.concurrency is 0"),
        ("{worker: {concurrency: 1.5}}", "spec.worker.concurrency is 1.5"),
        ("{worker: {concurrency: true}}", "spec.worker.concurrency is True"),
        (
            "{worker: {drainTimeoutSeconds: -1}}",
            "spec.worker.drainTimeoutSeconds is -1, expected a number from 0",
        ),
        ("{worker: {drainTimeoutSeconds: .inf}}", "spec.worker.drainTimeoutSeconds is inf"),
        ("{worker: {drainTimeoutSeconds: .nan}}", "spec.worker.drainTimeoutSeconds is nan"),
        ("{worker: {drainTimeoutSeconds: 1m}}", "spec.worker.drainTimeoutSeconds is '1m'"),
        ("{kind: [fifo]}", "spec.kind is ['fifo']"),
        ("{kind: boltzmann, kindParams: {temperature: 0}}", "spec.kindParams.temperature is 0"),
        ("{kindParams: 5}", "spec.kindParams is a number, expected fields"),
        ("{elasticity: 5}", "spec.elasticity is 5, expected fields such as kind and max"),
        ("{elasticity: {max: 5}}", "spec.elasticity.kind is None, expected one of fixed, fully_elastic"),
        (
            "{elasticity: {kind: max_count, max: 1, idleTimeoutSeconds: 1" + "0" * 400 + "}}",
            "spec.elasticity",
        ),
        (
            "{worker: {drainTimeoutSeconds: 1" + "0" * 400 + "}}",
            "spec.worker.drainTimeoutSeconds is too large",
        ),
        ("{kindParams: {temperature: 2}}", "spec.kindParams.temperature belongs to kind boltzmann"),
        (
            "{elasticity: {kind: [fixed]}}",
            "spec.elasticity.kind is ['fixed'], expected one of fixed, fully_elastic",
        ),
        ("{elasticity: {kind: max_count}}", "spec.elasticity.max: is needed for this kind"),
        ("{elasticity: {kind: max_count, max: 0}}", "spec.elasticity.max: 0 is not a whole number from 1"),
        (
            "{elasticity: {kind: pool_with_threshold, warm: 3, max: 2}}",
            "spec.elasticity.warm: 3 is more than max, 2",
        ),
        ("{admission: 5}", "spec.admission is a number, expected fields"),
    ],
)
def test_a_value_of_a_wrong_type_or_range_is_answered_with_its_path(spec, said):
    assert said in spec_refusal(spec)


def test_one_queue_twice_is_refused():
    text = HEAD + "metadata: {name: q}\n"
    assert "queue 'q' is there more than once" in refusal(f"{text}---\n{text}")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("kind: Queue\nmetadata: {name: q\nspec: 1\n", "queue.yaml:3:5: not valid YAML"),
        ("a: b: c\n", "queue.yaml:1:5: not valid YAML"),
        ("a: 1\na: [\n", "queue.yaml:3:1: not valid YAML"),
        ("\tkind: Queue\n", "queue.yaml:1:1: not valid YAML"),
        ("a: *nowhere\n", "queue.yaml:1:4: not valid YAML"),
        ("a: !!python/object:os.system x\n", "queue.yaml:1:4: not valid YAML"),
    ],
)
def test_a_syntax_error_is_answered_with_line_and_column(text, at):
    assert refusal(text).startswith(at)


def test_a_field_given_twice_is_refused_with_its_line():
    assert refusal(HEAD + "metadata: {name: q}\nmetadata: {name: r}\n").startswith(
        "queue.yaml:4:1: not valid YAML"
    )


def test_a_control_character_is_answered_with_its_line_and_column():
    assert refusal("a: b\nc: \x01\n").startswith("queue.yaml:2:4: not valid YAML")


def test_a_name_that_looks_like_a_date_is_a_name():
    assert one(name="2024-13-45").name == "2024-13-45"


def test_a_number_without_digits_is_refused():
    assert "not valid YAML" in refusal(HEAD + "metadata: {name: 0b_}\n")


def test_tags_to_match_are_said_to_be_unused():
    assert one("{elasticity: {kind: fixed, match: [gpu]}}").unused == ("spec.elasticity.match",)


def test_the_field_that_gives_priorities_on_a_cluster_is_said_to_be_unused():
    found = one("{kind: priority, kindParams: {priority_field: urgency}}")
    assert found.unused == ("spec.kindParams.priority_field",)


def test_a_bomb_of_aliases_is_refused_at_once():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert len(refusal("\n".join(lines))) < 500


def test_deep_nesting_is_refused_in_one_line():
    assert "nested too deeply" in refusal("[" * 2000)


def test_a_long_wrong_value_is_cut_in_the_message():
    assert len(spec_refusal("{kind: " + "x" * 5000 + "}")) < 300


def test_a_missing_file_a_folder_and_one_that_is_not_text_are_one_line(tmp_path):
    for path, said in ((tmp_path / "no.yaml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(ConfigError, match=said):
            read_queue_file(path)
    binary = tmp_path / "queue.yaml"
    binary.write_bytes(b"kind: \xff\xfe\n")
    with pytest.raises(ConfigError, match="not a text file in UTF-8"):
        read_queue_file(binary)


def test_a_byte_order_mark_does_no_harm(tmp_path):
    path = tmp_path / "queue.yaml"
    path.write_text(FULL, encoding="utf-8-sig")
    assert read_queue_file(path)[0].name == "gpu"
