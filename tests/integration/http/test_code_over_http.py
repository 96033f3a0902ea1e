"""Code travels to workers of a control plane: pushed once for each state of a tree, run where it was not."""

import subprocess
import sys
import textwrap

import pytest

from lakeshore_controlplane.services.code_repos import CodeRepos

_PRODUCER = """
import sys
import jobs
for n in range(int(sys.argv[1])):
    print(jobs.work.submit(n))
"""
_JOBS = """
import dreamlake.lakeshore as dls
import helper

@dls.udf(queue="default")
def work(n):
    return [helper.NAME, n]
"""


class Project:
    """A git tree with a module, and a program in it that submits."""

    def __init__(self, site, root):
        self.site = site
        self.root = root
        root.mkdir()
        self._git("init", "-q", "-b", "main")
        self.write("jobs.py", _JOBS)
        self.write("helper.py", "NAME = 'first'\n")
        self.commit()

    def _git(self, *words):
        env = self.site.environment(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1")
        subprocess.run(["git", "-C", str(self.root), *words], env=env, check=True, timeout=30)

    def write(self, name, text):
        (self.root / name).write_text(textwrap.dedent(text))

    def commit(self):
        self._git("add", "-A")
        self._git("-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "-m", "x")

    def submit(self, count=1, **env):
        ran = subprocess.run(
            [sys.executable, "-c", _PRODUCER, str(count)],
            env=self.site.environment(**env),
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert not ran.stderr
        return ran.stdout.split()


@pytest.fixture
def uploads(monkeypatch):
    """The number of archives that were asked for."""
    asked = []
    announce = CodeRepos.announce

    async def noting(self, *args, **kwargs):
        answer = await announce(self, *args, **kwargs)
        asked.append(answer["exists"])
        return answer

    monkeypatch.setattr(CodeRepos, "announce", noting)
    return lambda: asked.count(False)


@pytest.fixture(params=["folder", "s3"])
def project(request, serve, tmp_path):
    settings = request.getfixturevalue("on_s3") if request.param == "s3" else {}
    return Project(serve(**settings), tmp_path / "project")


def test_a_worker_elsewhere_runs_the_module_of_a_git_tree(project, uploads):
    ids = project.submit(3) + project.submit(2)
    project.site.worker()
    assert [project.site.result(inv_id) for inv_id in ids] == [["first", n] for n in (0, 1, 2, 0, 1)]
    assert uploads() == 1


def test_each_state_of_the_tree_runs_as_it_was_submitted(project, uploads):
    site = project.site
    site.worker()
    (first,) = project.submit()
    assert site.result(first) == ["first", 0]
    project.write("helper.py", "NAME = 'dirty'\n")
    (dirty,) = project.submit()
    assert site.result(dirty) == ["dirty", 0]
    project.write("helper.py", "NAME = 'second'\n")
    project.commit()
    (second,) = project.submit()
    assert site.result(second) == ["second", 0]
    project.write("helper.py", "NAME = 'dirty'\n")
    (again,) = project.submit()
    assert site.result(again) == ["dirty", 0]
    assert uploads() == 3


def test_switched_off_nothing_is_pushed_and_the_worker_imports_its_own(project, uploads):
    (inv_id,) = project.submit(LAKESHORE_PUSH_CODE="off")
    project.site.worker(cwd=project.root)
    assert project.site.result(inv_id) == ["first", 0]
    assert uploads() == 0
