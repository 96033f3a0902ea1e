"""Git trees to archive."""

import subprocess

import pytest


class GitTree:
    """A repository in a folder of its own, away from the user's settings."""

    def __init__(self, root):
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Tests")
        self.git("config", "user.email", "tests@example.com")
        self.git("config", "commit.gpgsign", "false")

    def git(self, *words):
        command = ["git", "-C", str(self.root), "-c", "protocol.file.allow=always", *words]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    def write(self, name, text="", mode=0o644):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a commit")
        return self.git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def no_settings_of_the_user(monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def tree(tmp_path):
    made = GitTree(tmp_path / "project")
    made.write("jobs.py", "def double(x):\n    return 2 * x\n")
    made.write("pkg/__init__.py")
    made.write(".gitignore", "data/\n__pycache__/\n")
    made.commit()
    return made


@pytest.fixture
def new_tree(tmp_path):
    return lambda name: GitTree(tmp_path / name)
