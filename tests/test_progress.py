"""Progress bars: on the terminal of whoever started the run, never in a log."""

import io
import os
import pty
import sys

from kernel_ledger import progress


def drawn(monkeypatch, environment, stderr):
    """What the terminal shows of a bar."""
    master, slave = pty.openpty()
    monkeypatch.setattr(progress, "DELAY_S", 0)
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.delenv(progress.TERMINAL, raising=False)
    if environment:
        monkeypatch.setenv(progress.TERMINAL, os.ttyname(slave))
    with progress.progress("reading it", 10) as bar:
        bar.update(5)
        bar.refresh()
    os.set_blocking(master, False)
    try:
        return os.read(master, 10_000).decode()
    except BlockingIOError:
        return ""
    finally:
        os.close(master)
        os.close(slave)


def test_a_script_whose_output_goes_to_a_log_draws_on_the_terminal_that_it_is_told(monkeypatch):
    log = io.StringIO()
    assert "reading it:  50%" in drawn(monkeypatch, True, log)
    assert log.getvalue() == ""


def test_without_a_terminal_nothing_is_drawn(monkeypatch):
    log = io.StringIO()
    assert drawn(monkeypatch, False, log) == "" and log.getvalue() == ""


def test_a_terminal_that_was_closed_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setenv(progress.TERMINAL, "/nowhere/tty")
    with progress.progress("reading it", 10) as bar:
        bar.update(5)


def test_the_terminal_is_told_where_there_is_one(monkeypatch):
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        environment = {}
        progress.name_terminal(environment)
        assert environment == {progress.TERMINAL: os.ttyname(slave)}
    os.close(master)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    progress.name_terminal(environment)
    assert environment == {}
