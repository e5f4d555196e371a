"""The commands under bad input: exit code 2 and one line, nothing lost or left behind."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import pathlib
import tempfile
from collections.abc import Iterator

import pytest
from commands import Said, call, output, refusal, run, table_aucs
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from matplotlib import image

from river_oauc.cli import main as cli
from river_oauc.cli.compare import command as compare
from river_oauc.cli.compare import curves
from river_oauc.cli.models import CONTENDERS

GOOD = "a,b,y\n1,2,0\n3,4,1\n5,6,0\n7,1,1\n"
CSV = ["compare", "data.csv", "--target", "y", "--positive", "1", "--models", "PAI"]
# Patches and directories may last for all examples of a property.
FUZZ = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def message(said: Said) -> str:
    """Return the one line of a refused command, without the name of the program."""
    assert said.code == 2, said
    (line,) = said.error.splitlines()
    return line.partition(": ")[2]


def contents(directory: pathlib.Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


@pytest.fixture(autouse=True)
def home(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Work in a directory with a file to compare on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "data.csv").write_text(GOOD)
    return tmp_path


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the figures, which take most of the time of a small run."""
    monkeypatch.setattr(curves, "draw_curves", lambda *args, **kwargs: b"")
    monkeypatch.setattr(compare, "replace_file", lambda path, content: None)


# Contents of a file ------------------------------------------------------------------------------

TOKENS = 'a b y , , , \n \n \r \r\n 0 1 1 " "" ; \t # : 1:1 2:3 -1 +1 1:nan { } {"y":1,"a":2} [ é'
BYTES = [b" ", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", *TOKENS.encode().split(b" ")]
LEARN = "learn data.csv --model m --learner SparseOAUCM --complete"


@pytest.mark.parametrize("beginning", [b"", b"a,y\n0,0\n", b"1 1:1\n0 1:2\n", b'{"y":1}\n'])
@given(st.binary(max_size=60) | st.lists(st.sampled_from(BYTES)).map(b"".join))
@settings(FUZZ, max_examples=50)
@example(GOOD.encode("utf-16-be"))
@example(GOOD.replace("\n", "\r").encode())
@example(b"1e308 " + b"9" * 5000 + b":1\n0 1:1e60\n")
@example(b'{"a": ' + b"9" * 5000 + b"}")
@example(b"\x1f\x8b")
def test_any_bytes(home: pathlib.Path, beginning: bytes, content: bytes) -> None:
    """They are learned, scored and explained, or refused in a line."""
    (home / "data.csv").write_bytes(beginning + content)
    learn = LEARN if beginning.startswith(b"1") else f"{LEARN} --target y"
    for command in (learn, "score m data.csv --output s --reasons 2", "explain m data.csv"):
        said = call(*command.split())
        if said.code == 0:
            assert said.error == ""
        else:
            assert message(said).startswith(("data.csv: ", "m: ")) and len(said.error) < 500
    files = contents(home)
    assert files.pop("data.csv") == beginning + content and files.keys() <= {"m", "s"}
    for name in files:
        (home / name).unlink()


CELLS = ["", " ", "NA", "?", *"0 -0.0 1 1.5 1e49 -1e50 1e60 5e-324 1_000 2024-02-29".split()]
CELLS += [*"red 1,5 0x10 $x^{ [b] y =1 💩".split(), "a\nb", 'a"b', "\x1b[31m", "a\u2028b", "9" * 60]
SLOW = ("ARFClassifier", "CatBoost")
NAMES = [contender.name for contender in CONTENDERS if contender.name not in SLOW]
COLUMN = st.lists(st.sampled_from(CELLS), min_size=1, max_size=4)


@pytest.mark.usefixtures("undrawn")
@given(
    st.lists(COLUMN, min_size=3, max_size=3).flatmap(
        lambda pools: st.lists(
            st.tuples(*map(st.sampled_from, pools), st.sampled_from("012")), max_size=20
        )
    ),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True),
    st.booleans(),
)
@settings(FUZZ, max_examples=100)
def test_any_cells(
    home: pathlib.Path, rows: list[tuple[str, ...]], models: list[str], shuffle: bool
) -> None:
    with (home / "data.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["a", "b", "c", "y"], *rows])
    said = call(*CSV[:-1], *models, "--shuffle" if shuffle else "--no-shuffle")
    n_positives = sum(row[-1] == "1" for row in rows)
    if not rows:
        assert message(said) == "data.csv: there is no row in it"
    elif n_positives in (0, len(rows)):
        assert f"the {len(rows)} rows are of one class: " in message(said)
    elif said.code == 2:
        # Numbers that overflow a scaler, or too large for a bare learner.
        assert " fails " in message(said)
    else:
        assert said.code == 0 and said.error == ""
        aucs = table_aucs(said.out)
        assert aucs and aucs.keys() <= set(models) and f"{len(rows)} rows, " in said.out
        assert all(0.0 <= auc <= 1.0 for auc in aucs.values())
    assert list(contents(home)) == ["data.csv"]


def test_large_refusals_are_short(home: pathlib.Path) -> None:
    many = ",".join(f"c{i}" for i in range(10**5)) + "\n" + "1," * 99_999 + "1\n"
    for content, expected in (
        (f"a,y\n{'x' * 10**6},0\n", "the row that begins in line 2 is not CSV: field larger"),
        (f"{'n' * 10**5},{'n' * 10**5},y\n", f"the column '{'n' * 27}...' occurs twice"),
        (many, "no column 'y'; the columns are 'c0', 'c1'"),
    ):
        (home / "data.csv").write_text(content)
        for command in (CSV, ["learn", "data.csv", "--target", "y", "--model", "m"]):
            line = refusal(*command)
            assert line.startswith(f"data.csv: {expected}") and len(line) < 300


# Files and options -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["a$^$b.csv", "caf\udce9.csv", "日本💩.csv", "\x1b[31mred\n.csv", "x" * 250 + ".csv"]
)
def test_any_file_name(home: pathlib.Path, name: str) -> None:
    (home / "data.csv").rename(name)
    text = output("compare", name, *CSV[2:])
    assert "\x1b" not in text
    text.encode()
    assert image.imread(home / "river-oauc-compare.png").shape == (750, 1650, 4)
    output("learn", name, "--target", "y", "--model", "m")


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_figure_is_written_through_a_link(home: pathlib.Path) -> None:
    (home / "link.png").symlink_to("figure.png")
    output(*CSV, "--plot", "link.png")
    assert (home / "link.png").is_symlink()
    assert (home / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["new", "old"])
def test_a_file_that_can_no_longer_be_written(
    home: pathlib.Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    output(*LEARN.split(), "--target", "y")
    before = contents(home) | {"old.png": b"old", "old": b"old"}
    for each in ("old.png", "old"):
        (home / each).write_bytes(b"old")

    def fail(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    assert message(call(*CSV, "--plot", f"{name}.png")) == f"{name}.png: No space left on device"
    said = call("score", "m", "data.csv", "--output", name)
    assert message(said) == f"{name}: No space left on device"
    with open("data.csv", "a") as file:
        file.write("8,8,1\n")
    assert message(call(*LEARN.split())) == "m: No space left on device"
    assert contents(home) == before | {"data.csv": GOOD.encode() + b"8,8,1\n"}


NOBODY = 65534


@pytest.fixture
def unprivileged(monkeypatch: pytest.MonkeyPatch) -> Iterator[pathlib.Path]:
    """Work as a user who is subject to file permissions."""
    if not hasattr(os, "geteuid"):
        pytest.skip("no file permissions on this system")
    is_root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:
        monkeypatch.chdir(name)
        if is_root:
            os.chown(name, NOBODY, -1)
            os.seteuid(NOBODY)
        try:
            yield pathlib.Path(name)
        finally:
            if is_root:
                os.seteuid(0)
            monkeypatch.undo()


@pytest.mark.parametrize(
    ("protected", "mode", "name"),
    [("data.csv", 0, "data.csv"), (".", 0o555, "river-oauc-compare.png")],
)
def test_protected_files_stay_as_they_are(
    unprivileged: pathlib.Path, protected: str, mode: int, name: str
) -> None:
    (unprivileged / "data.csv").write_text(GOOD)
    (unprivileged / protected).chmod(mode)
    assert message(call(*CSV)) == f"{name}: Permission denied"
    (unprivileged / protected).chmod(0o755)
    assert contents(unprivileged) == {"data.csv": GOOD.encode()}


NOT_A_COUNT = ["", "0", "-1", "1.5", "x", "nan", "1e3", "9" * 30, "9" * 5000]
WRONG = {
    "compare --limit": NOT_A_COUNT,
    "compare --seconds": NOT_A_COUNT,
    "compare --label-delay": NOT_A_COUNT,
    "learn data.csv --model m --every": NOT_A_COUNT,
    "compare --seed": ["", "1.5", "x", "nan", "9" * 5000],
    "compare --output": ["", "a.txt", "data.csv/a.json"],
    "compare --models": ["", "SVM", "Phishing"],
}


@pytest.mark.parametrize("arguments", WRONG)
def test_wrong_values(home: pathlib.Path, arguments: str) -> None:
    for value in WRONG[arguments]:
        assert refusal(*arguments.split(), value)
        assert list(home.iterdir()) == [home / "data.csv"]


# Output and interruptions ------------------------------------------------------------------------


def call_into(stream: io.TextIOWrapper) -> Said:
    error = io.StringIO()
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(error):
        code = run(*CSV)
    return Said(code, "", error.getvalue())


@pytest.mark.usefixtures("undrawn")
def test_output_without_space_without_reader_and_in_ascii() -> None:
    with io.TextIOWrapper(io.BytesIO(), encoding="ascii") as ascii:
        assert call_into(ascii) == Said(0, "", "")
        assert b" ?s " in ascii.buffer.getvalue()
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as pipe:
        assert call_into(pipe).error == ""
    if pathlib.Path("/dev/full").exists():
        # Closing writes what is left in the buffer.
        with open("/dev/full", "w") as full:
            assert message(call_into(full)) == "[Errno 28] No space left on device"


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [(KeyboardInterrupt, 130, "interrupted\n"), (MemoryError, 2, "there is not enough memory")],
)
@pytest.mark.parametrize("module, name", [(cli, "_parser"), (compare, "make_runs")])
def test_interrupted_or_out_of_memory(home, monkeypatch, module, name, error, code, line) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr(module, name, fail)
    said = call(*CSV)
    assert said.code == code and said.error.count("\n") == 1
    assert said.error.startswith(f"river-oauc: {line}")
    assert list(contents(home)) == ["data.csv"]
