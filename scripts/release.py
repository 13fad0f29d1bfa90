"""A script that builds the release, and tries the wheel and the sdist in fresh environments.

    python -m scripts.release

No network is needed: a fresh environment takes the dependencies from the Python that runs this (``pip install -e
'.[dev,release]'``). Nothing is tagged or uploaded. The remaining manual steps are printed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

import dispatchviz

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"

STEPPER = """
import asyncio, sys
from pathlib import Path
import dispatchviz
from dispatchviz.tui.app import StepperApp
from dispatchviz.views.session import Session

async def opened():
    app = StepperApp(Session(dispatchviz.load(sys.argv[1])))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("right", "q")

asyncio.run(opened())
print(Path(dispatchviz.__file__).parent)
"""
"""The code that opens the stepper without a terminal, and prints the installation that it is from."""


OFFLINE = ("--no-index", "--no-deps", "--no-build-isolation", "--ignore-installed")
"""The options of pip for an environment that already has the dependencies and the build backend."""


def unlike_version(version: str) -> list[str]:
    """Return the files whose text names another version."""
    wanted = {"CHANGELOG.md": rf"^## {re.escape(version)}\b", "CITATION.cff": rf"^version: {re.escape(version)}$"}
    return [
        name for name, line in wanted.items() if not re.search(line, (ROOT / name).read_text("utf-8"), re.MULTILINE)
    ]


def run(*command: str | Path, where: Path = ROOT) -> str:
    """Return the output of a command. Raise CalledProcessError if it fails."""
    print("  $", *(Path(command[0]).name, *(word for word in command[1:] if word != STEPPER)), flush=True)
    return subprocess.run([*map(str, command)], cwd=where, check=True, stdout=subprocess.PIPE, text=True).stdout


def build() -> list[Path]:
    """Return the wheel and the sdist, as package indexes accept them."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST)
    built = sorted(DIST.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *built)
    return built


def try_out(built: Path, folder: Path) -> None:
    """Install a file in a fresh environment, trace the shipped example there, and open the stepper on the trace."""
    venv.create(folder, with_pip=True)
    paths = sysconfig.get_paths(vars={"base": str(folder), "platbase": str(folder)})
    Path(paths["purelib"], "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    python, command = Path(paths["scripts"], "python"), Path(paths["scripts"], "dispatchviz")
    run(python, "-m", "pip", "install", "--quiet", *OFFLINE, built)
    printed = run(command, "trace", "examples/forum.py", where=folder)
    if "backward" not in printed:
        raise SystemExit(f"the trace of examples/forum.py has no backward:\n{printed}")
    run(command, "export", "examples/forum.py", "-o", "forum.dvtrace", where=folder)
    used = run(python, "-c", STEPPER, "forum.dvtrace", where=folder).strip()
    if not Path(used).is_relative_to(Path(paths["purelib"]).resolve()):
        raise SystemExit(f"this tried {used}, not what was installed in {folder}")


def main() -> int:
    """Build and try the release, and return the exit status."""
    version = dispatchviz.__version__
    if unlike := unlike_version(version):
        print(f"dispatchviz/__init__.py has version {version}; change {' and '.join(unlike)} to it", file=sys.stderr)
        return 2
    try:
        built = build()
        with tempfile.TemporaryDirectory() as folder:
            for path in built:
                try_out(path, Path(folder).resolve() / path.suffix)
    except subprocess.CalledProcessError as error:
        print(f"this failed with status {error.returncode}; see above for the reason\n{error.stdout}", file=sys.stderr)
        return 1
    print(REMAINS.format(version=version, files="\n       ".join(str(path.relative_to(ROOT)) for path in built)))
    return 0


REMAINS = """
Version {version} is built, installs and runs. The remaining manual steps are:

    1. Run `make test`, `make conformance` and `make bounds` on the commit that you release.
    2. Put the date into the heading "## {version}" of CHANGELOG.md, add `date-released` to CITATION.cff, and commit.
    3. Run `make release` again, with no uncommitted files.
    4. git tag -a v{version} -m "dispatchviz {version}"
    5. git push origin main v{version}
    6. Upload with your account: python -m twine upload
       {files}
"""

if __name__ == "__main__":
    sys.exit(main())
