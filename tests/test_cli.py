from __future__ import annotations

import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import river_oauc
import river_oauc_command
from river_oauc.cli import main as cli
from river_oauc.cli.compare import command as compare
from river_oauc.cli.main import main


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_importing_the_package_imports_none_of_the_extra() -> None:
    heavy = {"matplotlib", "rich", "threadpoolctl", "pandas", "polars", "sklearn", "tqdm"}
    done = run_python(f"import sys, river_oauc; print(sorted({heavy!r} & set(sys.modules)))")
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize("package", ["rich", "matplotlib", "threadpoolctl"])
@pytest.mark.parametrize("arguments", [[], ["compare"], ["--help"]])
def test_without_the_extra(package: str, arguments: list[str]) -> None:
    done = run_python(
        f"import sys; sys.modules[{package!r}] = None\n"
        f"from river_oauc.cli.main import main\n"
        f"sys.exit(main({arguments!r}))"
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        'river-oauc: install the extra with `pip install "river-oauc[experiments]"`\n'
    )


def test_console_script() -> None:
    (script,) = metadata.entry_points(group="console_scripts", name="river-oauc")
    assert script.load() is river_oauc_command.main


COMMAND = "import river_oauc_command as c, sys; sys.exit(c.main())"


def test_version_is_said_without_importing_the_package(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = f"river-oauc {river_oauc.__version__}\n"
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert (exit_.value.code, capsys.readouterr()) == (0, (line, ""))

    command = [sys.executable, "-X", "importtime", "-c", COMMAND, "--version"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, line)
    assert not {"numpy", "river", "river_oauc"} & {
        line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()
    }


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to send there")
@pytest.mark.parametrize("module", ["river_oauc", "numpy", "river", "rich", "matplotlib"])
def test_interrupted_while_importing(module: str) -> None:
    """One line and no traceback, whatever it is that is being imported."""
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
    command = [sys.executable, "-c", program + COMMAND, "compare"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "river-oauc: interrupted\n"


def test_interrupts_are_ours_until_everything_is_imported_and_then_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handlers = []
    monkeypatch.setattr(cli, "main", lambda: handlers.append(signal.getsignal(signal.SIGINT)) or 3)
    monkeypatch.setattr(sys, "argv", ["river-oauc", "compare"])
    before = signal.getsignal(signal.SIGINT)
    assert river_oauc_command.main() == 3
    assert handlers == [before]


@pytest.mark.parametrize("command", ["compare", "streams", "speed", "datasets", "tables"])
def test_every_command_has_help(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([command, "--help"])
    assert exit_.value.code == 0
    assert f"usage: river-oauc {command}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["compare", "--nonsense"]])
def test_what_argparse_refuses(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("river-oauc") and error.endswith(" --help\n")
    assert error.count("\n") == 1


def test_arguments_come_from_the_process(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["river-oauc", "compare", "no-such-set"])
    assert main() == 2
    assert capsys.readouterr().err.startswith("river-oauc: unknown set 'no-such-set'")


def test_interruption(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupt(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(compare, "race", interrupt)
    assert main(["compare", "Phishing"]) == 130
    assert "river-oauc: interrupted\n" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
