"""The pool of a network: what it can give out, where an address stands in it, and entries that are read oddly."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from exporter.facts.addresses import SIX, number, parse_block, parse_entry
from exporter.facts.pool import AddressPlace, Pool

PRIMARY = {"role": "primary"}


@pytest.mark.parametrize(
    ("pool", "dynamic", "static"),
    [
        (Pool(["192.168.100.0/24"], (), ["192.168.100.0/30"], ["192.168.100.200/29"], role="primary"), 243, 8),
        (Pool(["192.168.200.0/24"], ["192.168.200.1/32"]), 253, 0),
        (Pool(["10.10.0.0/24"], role="primary"), 252, 0),
        (Pool(["fd10:1::/64"], role="primary"), 65533, 0),
        (Pool(["10.100.200.0/24"], ["10.100.200.0/29"]), 247, 0),
        (Pool(["10.100.200.0/28"]), 14, 0),
        (Pool(["10.100.200.0/30"]), 2, 0),
        (Pool(["10.100.200.0/31"]), 0, 0),
        (Pool(["10.100.200.7/32"]), 0, 0),
        (Pool(["fd10:1::/64"]), 65535, 0),
        (Pool(["fd10:1::/112"]), 65535, 0),
        (Pool(["fd10:1::/127"]), 1, 0),
        (Pool(["fd10:1::/128"]), 0, 0),
        (Pool(["192.168.200.0/24"], ["192.168.200.1/32", "192.168.200.240/28"]), 238, 0),
        (Pool(["10.10.0.0/24"], gateways=["10.10.0.2"], role="primary"), 252, 0),
        (Pool(["10.10.0.0/24"], gateways=["10.10.0.9"], role="primary"), 252, 0),
        (Pool(["10.10.0.77/24"], ["10.10.0.1/25", "10.10.0.64/26"]), 127, 0),
        (Pool(["10.10.0.0/24"], topology="localnet", role="primary"), 254, 0),
    ],
)
def test_capacity(pool: Pool, dynamic: int, static: int) -> None:
    (capacity,) = pool.capacity()
    assert (capacity.dynamic, capacity.static) == (dynamic, static)
    assert capacity.dynamic + capacity.static + capacity.excluded + capacity.infrastructure == capacity.window


def test_layer3_has_no_pool_of_the_network() -> None:
    assert Pool(["10.128.0.0/16"], topology="layer3").capacity() == ()


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ("10.10.0.5/24", AddressPlace.INSIDE),
        ("10.10.0.005/24", AddressPlace.INSIDE),
        ("10.10.0.0000005/24", AddressPlace.INSIDE),
        ("10.10.0.1/24", AddressPlace.EXCLUDED),
        ("10.10.0.2/24", AddressPlace.EXCLUDED),
        ("10.10.0.64/24", AddressPlace.EXCLUDED),
        ("10.10.0.70/24", AddressPlace.EXCLUDED),
        ("10.10.0.72/24", AddressPlace.INSIDE),
        ("10.10.0.68/24", AddressPlace.EXCLUDED),  # of an exclude and of a reserved range
        ("10.10.0.200/24", AddressPlace.RESERVED),
        ("10.10.0.207/24", AddressPlace.RESERVED),
        ("10.10.0.208/24", AddressPlace.INSIDE),
        ("10.10.0.32/24", AddressPlace.INSIDE),
        ("10.10.1.5/24", AddressPlace.OUTSIDE),
        ("10.10.0.0/24", AddressPlace.EDGE),
        ("10.10.0.255/24", AddressPlace.EDGE),
        ("fd10::5/64", AddressPlace.INSIDE),
        ("fd10::00005/64", AddressPlace.INSIDE),
        ("FD10:0:0:0:0:0:0:5/64", AddressPlace.INSIDE),
        ("::ffff:10.10.0.5/120", AddressPlace.INSIDE),
        ("fd10::/64", AddressPlace.EDGE),
        ("fd10::ffff/64", AddressPlace.INSIDE),
        ("fd10::2:0:5/64", AddressPlace.BEYOND),
        ("fd10::1:0/64", AddressPlace.BEYOND),
        ("fd11::5/64", AddressPlace.OUTSIDE),
        ("10.10.0.5", AddressPlace.UNREADABLE),
        ("10.10.0.5/33", AddressPlace.UNREADABLE),
        ("10.10.0.256/24", AddressPlace.UNREADABLE),
        ("10.10.0/24", AddressPlace.UNREADABLE),
        ("10.10.0.x/24", AddressPlace.UNREADABLE),
        ("10.10.0.٥/24", AddressPlace.UNREADABLE),
        ("fd10:::5/64", AddressPlace.UNREADABLE),
        ("fd10:0:0:0:0:0:0:0:5/64", AddressPlace.UNREADABLE),
        ("fd10::12345/64", AddressPlace.UNREADABLE),
        ("fd10::5%eth0/64", AddressPlace.UNREADABLE),
        ("", AddressPlace.UNREADABLE),
        ("/24", AddressPlace.UNREADABLE),
    ],
)
def test_place(entry: str, place: AddressPlace) -> None:
    reserved = ["10.10.0.200/29", "10.10.0.68/30"]
    pool = Pool(["10.10.0.0/24", "fd10::/64"], ["10.10.0.64/29"], reserved=reserved, role="primary")
    assert pool.place(entry) is place


def test_an_address_of_a_family_without_subnet() -> None:
    assert Pool(["10.10.0.0/24"]).place("fd10::5/64") is AddressPlace.NO_FAMILY
    assert Pool(["10.10.0.0/31"]).place("10.10.0.1/31") is AddressPlace.EDGE


def test_infrastructure_ranges_are_nobody_s_and_leave_the_gateway_to_whoever_asks() -> None:
    pool = Pool(["10.10.0.0/24"], (), ["10.10.0.8/30"], ["10.10.0.16/30"], role="primary")
    places = [pool.place(f"10.10.0.{last}/24") for last in (1, 7, 8, 11, 12, 15, 16, 19, 20)]
    inside, kept, asked = AddressPlace.INSIDE, AddressPlace.EXCLUDED, AddressPlace.RESERVED
    assert places == [inside, inside, kept, kept, inside, inside, asked, asked, inside]


def test_every_place_of_a_subnet_adds_up_to_its_capacity() -> None:
    pool = Pool(["10.10.0.0/24"], ["10.10.0.64/26"], reserved=["10.10.0.96/27", "10.10.0.200/29"], role="primary")
    found = Counter(pool.place(f"10.10.0.{last}/24") for last in range(256))
    (capacity,) = pool.capacity()
    assert found[AddressPlace.INSIDE] == capacity.dynamic
    assert found[AddressPlace.RESERVED] == capacity.static
    assert found[AddressPlace.EXCLUDED] == capacity.excluded + capacity.infrastructure
    assert found[AddressPlace.EDGE] == 256 - capacity.window


def test_the_fullest_subnet_decides() -> None:
    pool = Pool(["10.10.0.0/29", "fd10::/64"], ["10.10.0.1/32"])
    held = ["10.10.0.1", "10.10.0.2", "10.10.0.3", "10.10.0.3", "fd10::1", "fd10::2", "10.99.0.1", "no address"]
    used = pool.used(map(number, held))
    assert used == (2, 2)
    assert pool.free(used) == 3
    assert pool.utilisation(used) == pytest.approx(0.4)
    assert Pool(["10.10.0.0/31"]).utilisation([0]) == 0
    assert Pool([]).free([]) == 0


def test_one_spelling_of_a_block() -> None:
    assert str(parse_block(" 192.168.007.9/24")) == "192.168.7.0/24"
    assert str(parse_block("FD10:0::1/48")) == "fd10::/48"
    assert parse_block("10.0.0.0") is None
    assert parse_entry("1.2.3.4/24") == 0x01020304
    assert number("::1") == SIX + 1


def test_a_hundred_thousand_entries_are_placed_fast() -> None:
    pool = Pool(["10.0.0.0/8", "fd10::/64"], [f"10.9.{n}.0/24" for n in range(200)])
    entries = [f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}/8" for n in range(1, 100_000)]
    started = time.perf_counter()
    for entry in entries:
        pool.place(entry)
    assert time.perf_counter() - started < 2  # 0.15 s on an idle core
