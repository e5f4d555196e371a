"""The entry point of the benchmarks: help, a missing extra, and requests that are refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commands import BENCHMARKS, call, refusal


@pytest.mark.parametrize("command", BENCHMARKS)
def test_every_command_has_help(command: str) -> None:
    said = call(command, "--help")
    assert (said.code, said.error) == (0, "")
    assert said.out.startswith(f"usage: python -m benchmarks {command}")


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask", None)
    message = refusal("distributed")
    assert message == 'install the extra with `pip install "river-oauc[distributed]"`'


NOT_A_COUNT = ["", "0", "-1", "1.5", "x", "9" * 5000]


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["speed", "--features"], [*NOT_A_COUNT, "5001"]),
        (["streams"], ["usenet", ""]),
        (["streams", "usenet1", "--limit"], NOT_A_COUNT),
        (["streams", "usenet1", "--seeds"], [*NOT_A_COUNT, "1001"]),
        (["streams", "usenet1", "--models"], ["LR", ""]),
        (["streams", "usenet1", "--out"], ["data.csv", "data.csv/x"]),
        (["tables"], ["", "quadratic"]),
        (["tables", "linear", "--datasets"], ["hart", ""]),
        (["tables", "linear", "--methods"], ["oauc-x", "KOIL"]),
        (["tables", "linear", "--runs"], [*NOT_A_COUNT, "1001"]),
        (["tables", "linear", "--jobs"], [*NOT_A_COUNT, "1000000"]),
        (["tables", "kernel", "--grid-step"], NOT_A_COUNT),
        (["tables", "linear", "--out"], ["data.csv", "data.csv/x"]),
        (["merging", "--models"], ["OAUCX"]),
        (["distributed", "--rows"], ["0"]),
    ],
)
def test_wrong_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], values: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("a,y\n1,0\n")
    for value in values:
        assert refusal(*arguments, value)
        assert list(tmp_path.iterdir()) == [tmp_path / "data.csv"]
