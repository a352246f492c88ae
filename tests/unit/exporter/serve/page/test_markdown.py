"""Runbooks as HTML: what is about which reason, and names in commands."""

from __future__ import annotations

import html

import pytest

from exporter.checks import all_checks
from exporter.runbook import texts
from exporter.serve.html.markdown import names_in, rendered, sections, with_names

from .....all_of import each_of

TEXT = """# VMBroken

## Meaning

* `One`: the first.
* `Two`: the second.

## Diagnosis

```sh
NAMESPACE='<namespace>' VMNAME='<vm>' STEWARD='<namespace>'
```

```sh not-in-tests: nothing runs there
kubectl get vmi -n "$NAMESPACE" "$VMNAME" -o jsonpath='{.$NAMESPACE}' > "$VMNAME.yaml"
```

With `Two`, look at its node:

```sh
kubectl delete vmi -n "$NAMESPACE" "$VMNAME"
```

<script>alert(1)</script> [others](VMOther.md), [docs](../../docs/repairs.md#a)
"""


def shown(names: dict[str, str]) -> str:
    (_, diagnosis) = sections(TEXT, ("One", "Two"))
    return "".join(rendered(each.tokens, names) for each in diagnosis.blocks)


def test_what_begins_with_reasons_is_about_these_and_what_follows_too() -> None:
    meaning, diagnosis = sections(TEXT, ("One", "Two"))
    assert [sorted(each.reasons) for each in meaning.blocks] == [["One"], ["Two"], []]
    assert [sorted(each.reasons) for each in diagnosis.blocks] == [[], ["Two"]]
    assert "the first" in rendered(meaning.blocks[0].tokens)
    assert "the second" not in rendered(meaning.blocks[0].tokens)


def test_a_part_ends_where_another_begins_in_bold_and_a_note_is_about_its_reason_alone() -> None:
    text = """## Mitigation

With `One`, tell the owner.

Cancel it.

⚠ **`Two`**: stop it.

Start it.

**Delete it, or correct a `One`.** This can't be undone.
"""
    (section,) = sections(text, ("One", "Two"))
    found = [(sorted(each.reasons), each.tokens[1].content) for each in section.blocks if each.tokens]
    assert found == [
        (["One"], "With `One`, tell the owner."),
        ([], "Cancel it."),
        (["Two"], "⚠ **`Two`**: stop it."),
        ([], "**Delete it, or correct a `One`.** This can't be undone."),
    ]


@each_of("name", sorted({each.alert for check in all_checks() for each in check.reasons.values()} & texts().keys()))
def test_each_reason_is_told_what_to_do(name: str) -> None:
    """A part that is about others is folded away."""
    reasons = {n for check in all_checks() for n, each in check.reasons.items() if each.alert == name}
    (section,) = (each for each in sections(texts()[name], reasons) if each.title == "Mitigation")
    blocks = section.blocks
    own = {reason: [each for each in blocks if not each.reasons or reason in each.reasons] for reason in reasons}
    words = {reason: " ".join(t.content for each in some for t in each.tokens).split() for reason, some in own.items()}
    assert [reason for reason, said in words.items() if len(said) < 20] == []


MAKERS = {
    "virtualmachinepools.pool.kubevirt.io": "VirtualMachinePool",
    "virtualmachineinstancereplicasets.kubevirt.io": "VirtualMachineInstanceReplicaSet",
}


@each_of("name", sorted(texts()))
def test_what_is_for_pools_and_replica_sets_names_no_vm(name: str) -> None:
    reasons = {n for check in all_checks() for n, reason in check.reasons.items() if reason.alert == name}
    for block in (block for section in sections(texts()[name], reasons) for block in section.blocks):
        for maker, kind in MAKERS.items():
            text = "\n".join(token.content for token in block.tokens if token.type == "fence")
            both = len([each for each in MAKERS if f"{each} -n" in text]) > 1  # one of them for whichever it is
            for line in text.splitlines():
                if line.startswith("kubectl get " + maker) and '"$NAME"' in line and not both:
                    assert block.kind == kind, line


def test_a_file_that_one_kind_is_saved_to_is_for_that_kind() -> None:
    """Also where a command only names the file: it would replace something else, or there is none."""
    for alert, text in texts().items():
        for block in (each for section in sections(text, ()) for each in section.blocks):
            told = "\n".join(each.content for each in block.tokens if each.type == "fence")
            assert "replicaset.yaml" not in told or block.kind == "VirtualMachineInstanceReplicaSet", alert


def test_commands_for_another_kind_stand_apart_with_the_paragraph_above_them() -> None:
    text = """## Diagnosis

**`One`**: read the VM:

```sh
kubectl get virtualmachines.kubevirt.io -n "$NAMESPACE" "$VMNAME" -o yaml
```

For a pool, read that:

```sh
kubectl get virtualmachinepools.pool.kubevirt.io -n "$NAMESPACE" "$NAME" -o yaml
```

Go on.
"""
    (section,) = sections(text, ("One",))
    found = [(each.kind, each.tokens[1].content, sorted(each.reasons)) for each in section.blocks]
    assert found == [
        ("", "**`One`**: read the VM:", ["One"]),
        ("VirtualMachinePool", "For a pool, read that:", ["One"]),
        ("", "Go on.", ["One"]),
    ]
    one = frozenset(("One",))
    assert [each.concerns(one, "VirtualMachine") for each in section.blocks] == [True, False, True]
    assert all(each.concerns(one, "VirtualMachinePool") and each.concerns(one, "") for each in section.blocks)


def test_names_stand_in_place_of_variables_where_a_shell_puts_them() -> None:
    names = names_in(TEXT, {"namespace": "shop", "vm": "db"})
    assert names == {"NAMESPACE": "shop", "VMNAME": "db"}
    text = html.unescape(shown(names))
    assert "NAMESPACE=shop VMNAME=db STEWARD='<namespace>'" in text
    assert "kubectl get vmi -n shop db -o jsonpath='{.$NAMESPACE}' > \"db.yaml\"" in text
    assert "not-in-tests" not in text


@pytest.mark.parametrize("name", ["a b", "$(reboot)", "a'; reboot #", "<b>", ""])
def test_a_name_that_means_something_to_a_shell_is_quoted_where_it_is_assigned_and_nowhere_else(name: str) -> None:
    text = html.unescape(shown(names_in(TEXT, {"namespace": "shop", "vm": name})))
    assert 'kubectl get vmi -n shop "$VMNAME"' in text
    assert "<b>" not in shown(names_in(TEXT, {"namespace": "shop", "vm": name}))


def test_what_a_shell_makes_of_a_variable_stays_and_a_text_of_json_keeps_its_quotes() -> None:
    names = {"FEATURE": "vsock", "VMNAME": "123"}
    assert with_names('steward check ${FEATURE:+--feature "$FEATURE"}', names) == (
        "steward check ${FEATURE:+--feature vsock}"
    )
    assert with_names('[{"op": "test", "value": "$VMNAME"}]', names) == '[{"op": "test", "value": "123"}]'
    assert with_names('kubectl get -n "${VMNAME}" $VMNAME', names) == "kubectl get -n 123 123"


def test_markup_of_the_text_is_text_and_links_lead_to_what_is_there() -> None:
    text = shown({})
    assert "&lt;script&gt;" in text
    assert 'href="/runbooks/VMOther.md"' in text
    assert "/rules/runbooks/../../docs/repairs.md#a" in text


def test_what_changes_the_cluster_says_so_between_what_looks() -> None:
    before, _, after = shown({}).partition("kubectl delete")
    assert "changes the cluster" not in before.partition("With")[0]
    assert "can't be undone" in before.partition("With")[2]
    assert after


@each_of("name", sorted(texts()))
def test_no_part_of_a_runbook_is_lost(name: str) -> None:
    reasons = {n for check in all_checks() for n, each in check.reasons.items() if each.alert == name}
    parts = [rendered(b.tokens) for section in sections(texts()[name], reasons) for b in section.blocks]
    plain = [rendered(b.tokens) for section in sections(texts()[name]) for b in section.blocks]
    assert sum(each.count("<code>") for each in parts) == sum(each.count("<code>") for each in plain)
    assert sum(each.count("<li>") for each in parts) == sum(each.count("<li>") for each in plain)
