"""The entry points: help, version, errors and interrupts of the programs."""

from __future__ import annotations

import signal
import subprocess
import sys
from importlib import metadata

import pytest
from commands import call, refusal

import river_oauc
import river_oauc_command
from river_oauc.cli import main as cli


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments, "-c", code], capture_output=True, text=True)


@pytest.mark.parametrize(
    "package",
    ["rich", "matplotlib", "threadpoolctl"],
)
def test_without_an_extra(package: str) -> None:
    done = run_python(
        f"import sys; sys.modules[{package!r}] = None\n"
        "from river_oauc.cli.main import main\n"
        "sys.exit(main(['--help']))"
    )
    line = 'river-oauc: install the extra with `pip install "river-oauc[experiments]"`\n'
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


def test_console_script() -> None:
    (script,) = metadata.entry_points(group="console_scripts", name="river-oauc")
    assert script.load() is river_oauc_command.main


COMMAND = "import river_oauc_command as c, sys; sys.argv = ['river-oauc', {!r}]; sys.exit(c.main())"


def test_version_needs_no_import(capsys: pytest.CaptureFixture[str]) -> None:
    line = f"river-oauc {river_oauc.__version__}\n"
    with pytest.raises(SystemExit) as exit_:
        cli.main(["--version"])
    assert (exit_.value.code, capsys.readouterr()) == (0, (line, ""))
    done = run_python(COMMAND.format("--version"), "-X", "importtime")
    assert (done.returncode, done.stdout) == (0, line)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "importlib" in str(imported) and not {"numpy", "river", "river_oauc"} & imported


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to send there")
@pytest.mark.parametrize("module", ["river_oauc", "numpy", "river", "rich", "matplotlib"])
def test_interrupted_while_importing(module: str) -> None:
    """One line and no traceback, whatever is being imported."""
    program = (
        "import builtins, os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "real = builtins.__import__\n"
        "def interrupt(name, *args, **kwargs):\n"
        f"    if name.partition('.')[0] == {module!r}:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *args, **kwargs)\n"
        "builtins.__import__ = interrupt\n"
    )
    done = run_python(program + COMMAND.format("compare"))
    expected = (130, "", "river-oauc: interrupted\n")
    assert (done.returncode, done.stdout, done.stderr) == expected


def test_the_interrupt_handler_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers = []
    monkeypatch.setattr(cli, "main", lambda: handlers.append(signal.getsignal(signal.SIGINT)) or 3)
    monkeypatch.setattr(sys, "argv", ["river-oauc", "compare"])
    before = signal.getsignal(signal.SIGINT)
    assert river_oauc_command.main() == 3
    assert handlers == [before]


@pytest.mark.parametrize("command", ["compare", "learn", "score", "explain"])
def test_every_command_has_help(command: str) -> None:
    said = call(command, "--help")
    assert (said.code, said.error) == (0, "")
    assert said.out.startswith(f"usage: river-oauc {command}")


@pytest.mark.parametrize("arguments", ["nonsense", "compare --nonsense", "learn"])
def test_errors_of_the_parser_take_one_line(arguments: str) -> None:
    assert refusal(*arguments.split()).endswith(" --help")
