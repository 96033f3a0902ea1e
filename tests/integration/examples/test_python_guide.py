"""The documentation's Python works as printed: every block is run, with the workers that the page starts.

How a page is read. The Python blocks of a section make one program, run in order. A block whose first line is
a file name (``# shapes.py``) is a module beside it instead, which the workers can import too. What the program
prints has to be the text of its ``# ->`` comments, line by line, ``...`` standing for any text. A program that
names a queue gets the worker that one of the page's ``lakeshore worker start --queue`` lines starts there.
"""

import ast
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import dreamlake.lakeshore as dls

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = ("python.md", "tutorial.md")
ELSEWHERE = {"tutorial.md: The same program on a control plane"}  # test_tutorial_on_a_control_plane runs it

_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\w+\.py)\n")
_EXPECTED = re.compile(r"# -> (.*)$", re.MULTILINE)
_WORKER = re.compile(r"^lakeshore worker start (--queue \S+.*)$", re.MULTILINE)


@dataclass
class Section:
    """One section of a page as a program, the modules beside it, and the workers that it needs."""

    title: str
    program: str = ""
    modules: dict[str, str] = field(default_factory=dict)
    workers: list[list[str]] = field(default_factory=list)

    @property
    def expected(self) -> list[str]:
        return _EXPECTED.findall(self.program)


def sections_of(page: str) -> list[Section]:
    text = (DOCS / page).read_text(encoding="utf-8")
    workers = [shlex.split(line, comments=True) for line in _WORKER.findall(text)]
    parts = _SECTION.split("## Start\n" + text)[1:]
    found = [_section(f"{page}: {title}", body) for title, body in zip(parts[::2], parts[1::2], strict=True)]
    for section in found:
        source = section.program + "".join(section.modules.values())
        section.workers = [flags for flags in workers if f'"{flags[1]}"' in source]
    return [section for section in found if section.program and section.title not in ELSEWHERE]


def _section(title: str, body: str) -> Section:
    section = Section(title)
    for block in _BLOCK.findall(body):
        named = _FILE.match(block)
        if named:
            section.modules[named[1]] = block
        else:
            section.program += block
    return section


@contextmanager
def worker(flags, folder, environment):
    """A worker as the page starts it. It is drained at the end, and killed when it does not end by itself."""
    with (folder / "worker.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "dreamlake.lakeshore.daemon", *flags],
            cwd=folder,
            env=environment,
            stderr=log,
        )
        try:
            yield
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()
            process.wait(timeout=30)


@pytest.mark.parametrize(
    "section", [section for page in PAGES for section in sections_of(page)], ids=lambda section: section.title
)
def test_the_programs_of_a_section_print_what_the_page_says(section, tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAKESHORE_")}
    environment = {**kept, "LAKESHORE_HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path)}
    for name, source in {**section.modules, "program.py": section.program}.items():
        (tmp_path / name).write_text(source, encoding="utf-8")
    with ExitStack() as running:
        for flags in section.workers:
            running.enter_context(worker(flags, tmp_path, environment))
        done = subprocess.run(
            [sys.executable, "-W", "error", "program.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        log = tmp_path / "worker.log"
        assert done.returncode == 0, done.stdout + done.stderr + (log.read_text() if log.exists() else "")
    printed = done.stdout.splitlines()
    for number, (said, got) in enumerate(zip(section.expected, printed, strict=False), start=1):
        pattern = re.escape(said).replace(r"\.\.\.", ".*")
        assert re.fullmatch(pattern, got), f"line {number} of the output"
    assert len(printed) == len(section.expected), f"the page tells {section.expected}, printed was {printed}"


def test_the_tutorials_first_program_is_the_example_beside_it():
    def without_docstrings(source):
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node) is not None:
                del node.body[0]
        tree.body = [node for node in tree.body if getattr(node, "module", "") != "__future__"]
        return ast.unparse(tree)

    example = (ROOT / "examples/hello/hello_udf.py").read_text(encoding="utf-8")
    assert without_docstrings(sections_of("tutorial.md")[0].program) == without_docstrings(example)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_programs_to_check(page):
    assert len(sections_of(page)) >= 3


@pytest.mark.parametrize("name", sorted(dls.__all__))
def test_the_guide_mentions_each_public_name(name):
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    assert re.search(rf"`(?:dls\.)?{name}\b", text), f"docs/python.md says nothing about {name}"


def test_the_guide_leads_to_pages_and_sections_that_exist():
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert links
    for link in links:
        path, _, anchor = link.partition("#")
        assert (DOCS / path).exists() if path else anchor in anchors, link
