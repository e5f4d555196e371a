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

from benchmarks.paper import command as tables
from benchmarks.paper.methods import TABLES
from benchmarks.paper.results import results_file
from benchmarks.speed import MAX_FEATURES
from river_oauc.cli import main as cli
from river_oauc.cli.compare import command as compare
from river_oauc.cli.compare import curves
from river_oauc.cli.models import CONTENDERS

GOOD = "a,b,y\n1,2,0\n3,4,1\n5,6,0\n7,1,1\n"
CSV = ["compare", "data.csv", "--target", "y", "--positive", "1", "--models", "PAI"]


def message(said: Said) -> str:
    """Return the one line of a refused command, without the name of the program."""
    assert said.code == 2, said
    (line,) = said.error.splitlines()
    return line.partition(": ")[2]


def contents(directory: pathlib.Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


# Patches and directories may last for all examples of a property.
FUZZ = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


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

AWKWARD_BYTES = b'a b y , , , \n \n \n \r \r\n 0 1 1 " "" ; \t \xff \xe9 \xef\xbb\xbf \xff\xfe'


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("beginning", [b"", b"a,y\n0,0\n"])
@given(
    st.binary(max_size=60)
    | st.lists(st.sampled_from([b" ", *AWKWARD_BYTES.split(b" ")])).map(b"".join)
)
@settings(FUZZ, max_examples=100)
@example(GOOD.encode("utf-8-sig"))
@example(GOOD.encode("utf-16"))
@example(GOOD.encode("utf-16-be"))
@example(GOOD.replace("\n", "\r").encode())
def test_any_bytes(home: pathlib.Path, beginning: bytes, content: bytes) -> None:
    before = {"data.csv": beginning + content}
    (home / "data.csv").write_bytes(before["data.csv"])
    said = call(*CSV)
    if said.code == 0:
        assert said.error == ""
    else:
        assert message(said).startswith("data.csv: ")
        assert said.out == ""
    assert contents(home) == before


@pytest.mark.usefixtures("undrawn")
@given(
    st.binary(max_size=60)
    | st.lists(
        st.sampled_from("1 -1 0 +1 1:1 2:3 3:-1e49 9:0 qid:1 # : 1: :1 nan 1:nan é \n".split(" "))
    ).map(lambda cells: " ".join(cells).encode())
)
@settings(FUZZ, max_examples=100)
@example(b"1 1:1\n0 1:2\n1 2:1\n")
@example(b"1" * 400 + b" 1:1\n0 1:1\n")
@example(b"1e308 " + b"9" * 5000 + b":1\n0 1:1\n")
@example(b"1 1:1e60\n0 1:1\n")
@example(b"\x1f\x8b")
def test_any_bytes_as_libsvm(home: pathlib.Path, content: bytes) -> None:
    (home / "data.csv").write_bytes(content)
    said = call("compare", "data.csv", "--models", "SparseOAUCM", "PAI")
    if said.code == 0:
        assert said.error == ""
    else:
        assert message(said).startswith("data.csv: ")
        assert len(said.error) < 500
    assert contents(home) == {"data.csv": content}


CELLS = ["", " ", "NA", "?", *"0 -0.0 1 1.5 1e49 -1e50 1e60 5e-324 1_000 2024-02-29".split()]
CELLS += [*"red 1,5 0x10 $x^{ [b] y =1 💩".split(), "a\nb", 'a"b', "\x1b[31m", "a\u2028b", "9" * 60]
NAMES = [contender.name for contender in CONTENDERS if contender.name != "ARFClassifier"]


@st.composite
def awkward_rows(draw: st.DrawFn) -> list[list[str]]:
    """Draw rows of three cells and a label, with few distinct values per column."""
    pool = st.lists(st.sampled_from(CELLS), min_size=1, max_size=4)
    row = st.tuples(*(st.sampled_from(draw(pool)) for _ in range(3)), st.sampled_from("012"))
    return [list(cells) for cells in draw(st.lists(row, max_size=20))]


@pytest.mark.usefixtures("undrawn")
@given(
    awkward_rows(),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True),
    st.booleans(),
)
@settings(FUZZ, max_examples=150)
def test_any_cells(
    home: pathlib.Path, rows: list[list[str]], models: list[str], shuffle: bool
) -> None:
    with (home / "data.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["a", "b", "c", "y"], *rows])
    said = call(*CSV[:-1], *models, "--shuffle" if shuffle else "--no-shuffle")

    n_positives = sum(row[-1] == "1" for row in rows)
    if not rows:
        assert message(said) == "data.csv: there is no row in it"
    elif n_positives in (0, len(rows)):
        assert f" of the {len(rows)} examples is positive" in message(said)
    elif said.code == 2:
        # Numbers that overflow a scaler, or too large for a bare learner.
        assert " fails " in message(said)
    else:
        assert said.code == 0 and said.error == ""
        assert f"data.csv: {len(rows)} rows, " in said.out
        aucs = table_aucs(said.out)
        assert aucs and aucs.keys() <= set(models)
        assert all(0.0 <= auc <= 1.0 for auc in aucs.values())
    assert list(contents(home)) == ["data.csv"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (f"a,y\n{'x' * 10**6},0\n", "the row that begins in line 2 is not CSV: field larger"),
        (f"{'n' * 10**5},{'n' * 10**5},y\n", f"the column '{'n' * 27}...' occurs twice"),
        ("y," * 10**5 + "\n", "the column 'y' occurs twice in the header; rename one"),
        (
            ",".join(f"c{i}" for i in range(10**5)) + "\n" + "1," * 99_999 + "1\n",
            "no column 'y'; the columns are 'c0', 'c1'",
        ),
    ],
)
def test_large_refusals_are_short(home: pathlib.Path, content: str, expected: str) -> None:
    (home / "data.csv").write_text(content)
    line = refusal(*CSV)
    assert line.startswith(f"data.csv: {expected}")
    assert len(line) < 300


# Files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["a$^$b.csv", "caf\udce9.csv", "日本💩.csv", "\x1b[31mred\n.csv", "x" * 250 + ".csv"]
)
def test_any_file_name(home: pathlib.Path, name: str) -> None:
    (home / "data.csv").rename(name)
    text = output("compare", name, *CSV[2:])
    assert "\x1b" not in text
    text.encode()
    assert image.imread(home / "river-oauc-compare.png").shape == (750, 1350, 4)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_figure_is_written_through_a_link(home: pathlib.Path) -> None:
    (home / "link.png").symlink_to("figure.png")
    refusal("compare", "nonsense", "--plot", "link.png")
    assert not (home / "figure.png").exists()
    output(*CSV, "--plot", "link.png")
    assert (home / "link.png").is_symlink()
    assert (home / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("plot", ["figures/a.png", "figures/old.png"])
def test_a_figure_that_can_no_longer_be_written(
    home: pathlib.Path, monkeypatch: pytest.MonkeyPatch, plot: str
) -> None:
    (home / "figures").mkdir()
    (home / "figures" / "old.png").write_bytes(b"old")

    def fail(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    said = call(*CSV, "--plot", plot)
    assert message(said) == f"{plot}: No space left on device"
    assert contents(home / "figures") == {"old.png": b"old"}


@pytest.fixture
def unprivileged(monkeypatch: pytest.MonkeyPatch) -> Iterator[pathlib.Path]:
    """Work as a user who is subject to file permissions."""
    if not hasattr(os, "geteuid"):
        pytest.skip("no file permissions on this system")
    # That user may not be allowed to read the installed packages.
    monkeypatch.setattr(tables, "BENCHMARKS", {})
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


NOBODY = 65534


TABLE = ["tables", "linear", "--out"]


@pytest.mark.parametrize(
    ("protected", "mode", "arguments", "name"),
    [
        ("data.csv", 0, CSV, "data.csv"),
        (".", 0o555, CSV, "river-oauc-compare.png"),
        (".", 0o555, [*TABLE, "new"], "new"),
        ("linear-results.jsonl", 0o444, [*TABLE, "."], "linear-results.jsonl"),
    ],
)
def test_protected_files_stay_as_they_are(
    unprivileged: pathlib.Path, protected: str, mode: int, arguments: list[str], name: str
) -> None:
    (unprivileged / "data.csv").write_text(GOOD)
    (unprivileged / "old.png").write_bytes(b"old")
    with results_file(unprivileged / "linear-results.jsonl", TABLES["linear"]()):
        pass
    before = contents(unprivileged)
    (unprivileged / protected).chmod(mode)
    assert message(call(*arguments)) == f"{name}: Permission denied"
    (unprivileged / protected).chmod(0o755)
    assert contents(unprivileged) == before


# Options -----------------------------------------------------------------------------------------

NOT_A_COUNT = ["", "0", "-1", "1.5", "x", "nan", "1e3", "9" * 30, "9" * 5000]


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["compare", "--limit"], NOT_A_COUNT),
        (["compare", "--seed"], ["", "1.5", "x", "nan", "9" * 5000]),
        (["compare", "--seconds"], NOT_A_COUNT),
        (["compare", "--delay"], NOT_A_COUNT),
        (["compare", "--output"], ["", "a.txt", "data.csv/a.json"]),
        (["compare", "--top"], ["", "0", "-1", "1.5", "0%", "100%", "nan%", "x%", "9" * 5000]),
        (["compare", "--models"], ["", "SVM", "Phishing"]),
        (["speed", "--features"], [*NOT_A_COUNT, "5001"]),
        (["speed", "--repeats"], NOT_A_COUNT),
        (["datasets"], ["hearts", "--all"]),
        (["streams"], ["usenet", ""]),
        (["streams", "usenet1", "--limit"], NOT_A_COUNT),
        (["streams", "usenet1", "--seeds"], [*NOT_A_COUNT, "1001"]),
        (["streams", "usenet1", "--models"], ["LR", ""]),
        (["streams", "usenet1", "--out"], ["data.csv", "data.csv/x"]),
        (["tables"], ["", "quadratic"]),
        (["tables", "linear", "--datasets"], ["hart", ""]),
        (["tables", "linear", "--methods"], ["oauc-x", "KOIL"]),
        (["merging", "--models"], ["OAUCX"]),
        *((["distributed", f"--{name}"], ["0"]) for name in ("rows", "features", "rounds")),
        (["tables", "linear", "--runs"], [*NOT_A_COUNT, "1001", "1000000"]),
        (["tables", "linear", "--jobs"], [*NOT_A_COUNT, "1000000"]),
        (["tables", "kernel", "--grid-step"], NOT_A_COUNT),
        (["tables", "linear", "--out"], ["data.csv", "data.csv/x"]),
    ],
)
def test_wrong_values(home: pathlib.Path, arguments: list[str], values: list[str]) -> None:
    for value in values:
        assert refusal(*arguments, value)
        assert list(home.iterdir()) == [home / "data.csv"]


def test_speed_stays_within_the_limits_of_the_learners() -> None:
    learners = [contender.make(42) for contender in CONTENDERS if contender.ours]
    # AutoOAUC refuses nothing: beyond its limit, features go to the sparse expert only.
    limits = {
        getattr(learner, "max_features", None)
        for learner in learners
        if type(learner).__name__ != "AutoOAUC"
    } - {None}
    assert limits and min(limits) >= MAX_FEATURES


# Output and interruptions ------------------------------------------------------------------------


def call_into(stream: io.TextIOWrapper, *arguments: str) -> Said:
    error = io.StringIO()
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(error):
        code = run(*arguments)
    return Said(code, "", error.getvalue())


@pytest.mark.skipif(not pathlib.Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_without_space(undrawn: None) -> None:
    # Closing writes what is left in the buffer.
    with open("/dev/full", "w") as full:
        said = call_into(full, *CSV)
    assert message(said) == "[Errno 28] No space left on device"


def test_output_that_nobody_reads(undrawn: None) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as pipe:
        said = call_into(pipe, *CSV)
    assert said.code != 0
    assert said.error.count("\n") <= 1 and "Traceback" not in said.error


def test_output_in_ascii(undrawn: None) -> None:
    with io.TextIOWrapper(io.BytesIO(), encoding="ascii") as ascii:
        said = call_into(ascii, *CSV)
        assert (said.code, said.error) == (0, "")
        assert b"  ?s  " in ascii.buffer.getvalue()


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [(KeyboardInterrupt, 130, "interrupted\n"), (MemoryError, 2, "there is not enough memory")],
)
@pytest.mark.parametrize("module, name", [(cli, "_parser"), (compare, "race")])
def test_interrupted_or_out_of_memory(home, monkeypatch, module, name, error, code, line) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr(module, name, fail)
    said = call(*CSV)
    assert said.code == code and said.error.count("\n") == 1
    assert said.error.startswith(f"river-oauc: {line}")
    assert list(contents(home)) == ["data.csv"]
