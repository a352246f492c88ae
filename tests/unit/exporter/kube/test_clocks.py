"""How far our clock is from the API servers' is known from their answers, whoever sets it in between."""

from __future__ import annotations

import time
from email.utils import formatdate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo.apiserver.errors import ApiError
from exporter.kube.clocks import ServerClocks, boottime
from exporter.kube.errors import StatusError
from exporter.kube.transport import Transport
from tests.fakeapi.apiserver import FakeApiServer
from tests.fakeapi.faults import Fault
from tests.secure_server import config as kubeconfig

NOW = 1_780_000_000.0


class Times:
    """A clock that nobody sets, and API servers with clocks of their own."""

    def __init__(self) -> None:
        self.boot = 5_000.0
        self.clocks = ServerClocks(lambda: self.boot, "here")

    def answer(self, server_ahead: float = 0.0, took: float = 0.02, at: float = 0.5) -> None:
        """One that the server dates, by its own clock, after a part of the time that it takes."""
        sent = self.boot
        shown = NOW + sent + took * at + server_ahead
        self.boot += took
        self.clocks.take(sent, self.boot, formatdate(shown, usegmt=True))

    def ahead(self, ours_ahead: float = 0.0) -> float | None:
        skew = self.clocks.skew(NOW + self.boot + ours_ahead)
        return None if skew is None else skew.ahead


@given(
    st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(0, 10), st.floats(0, 1), st.floats(0, 200), st.floats(0, 1)
)
def test_it_is_right_but_for_the_header_s_second_and_the_way(
    ours: float, server: float, took: float, at: float, later: float, fraction: float
) -> None:
    times = Times()
    times.boot += fraction
    times.answer(server, took, at)
    times.boot += later
    assert times.ahead(ours) == pytest.approx(ours - server, abs=0.51 + took / 2)


def test_our_clock_is_looked_at_when_it_is_asked_for() -> None:
    times = Times()
    times.answer()
    assert times.ahead() == pytest.approx(0, abs=0.6)
    assert times.ahead(900) == pytest.approx(900, abs=0.6)  # it was set meanwhile, and nothing was answered since


def test_the_worst_of_several_servers_counts_for_five_minutes() -> None:
    times = Times()
    times.answer(0)
    times.answer(-50)
    for _ in range(29):
        times.boot += 10
        times.answer(0)
        skew = times.clocks.skew(NOW + times.boot)
        assert skew is not None
        assert (round(skew.ahead), round(skew.spread), skew.host) == (50, 50, "here")
    times.boot += 30
    times.answer(0)
    assert times.ahead() == pytest.approx(0, abs=0.6)


def test_without_an_answer_for_five_minutes_it_is_not_known() -> None:
    times = Times()
    assert times.ahead() is None
    times.answer()
    times.boot += 299
    assert times.ahead() is not None
    times.boot += 2
    assert times.ahead() is None


@pytest.mark.parametrize("date", [None, "", "yesterday", "Thu, 32 Foo 2026", "1780000000"])
def test_what_is_no_date_says_nothing(date: str | None) -> None:
    clocks = ServerClocks()
    clocks.take(boottime(), boottime(), date)
    assert clocks.skew(NOW) is None


def test_an_answer_that_took_long_says_nothing() -> None:
    times = Times()
    times.answer(took=10.1)
    assert times.ahead() is None


@pytest.mark.parametrize("refused", [False, True])
async def test_each_answer_of_the_api_server_has_a_date(tmp_path: Path, refused: bool) -> None:
    server = FakeApiServer()
    await server.start()
    if refused:
        server.faults.add(Fault("/api/v1", answer=lambda *_: ApiError(403, "Forbidden", "no")))
    transport = Transport.from_environment(kubeconfig(tmp_path / "kubeconfig", server.url))
    try:
        try:
            async with transport.open("GET", "/api/v1", read_seconds=5):
                assert not refused
        except StatusError:
            assert refused
        skew = transport.clocks.skew(time.time())
        assert skew is not None
        assert abs(skew.ahead) < 5
    finally:
        await transport.close()
        await server.stop()


async def test_an_answer_of_virt_api_has_the_time_of_another_node(tmp_path: Path) -> None:
    server = FakeApiServer()
    await server.start()
    transport = Transport.from_environment(kubeconfig(tmp_path / "kubeconfig", server.url))
    path = "/apis/subresources.kubevirt.io/v1/namespaces/ns/virtualmachineinstances/db/evacuate/cancel"
    try:
        with pytest.raises(StatusError):
            async with transport.open("PUT", path, read_seconds=5, body={}):
                pass
        assert transport.clocks.skew(NOW) is None
    finally:
        await transport.close()
        await server.stop()
