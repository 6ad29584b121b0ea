"""Generated models × values × splits: the final object, the partial ones, the validators and the events."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError
from support import schemas, splits
from support.runner import merge

from streamparse.schema import PartialBuilder, PartialModel

enough = settings(max_examples=max(200, settings().max_examples))


def _strings(value: Any) -> set[str]:
    if isinstance(value, str):
        return {value, value.strip()}
    items = [*value.keys(), *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return {text for item in items for text in _strings(item)}


def _judge(model: Any, data: Any) -> tuple[bool, Any]:
    try:
        return True, TypeAdapter(model).validate_python(data)
    except ValidationError as error:
        return False, {(".".join(map(str, e["loc"])), e["type"]) for e in error.errors()}


@enough
@given(made=schemas.models(), draw=st.data(), places=splits.cuts(20))
def test_the_final_object_is_what_model_validate_gives(
    made: schemas.Made, draw: st.DataObject, places: list[float]
) -> None:
    data = draw.draw(made.data)
    fits, wanted = _judge(made.model, data)
    run = schemas.stream(made.model, splits.chop(json.dumps(data), places), strict=True)
    assert run.data == data
    assert run.stage.tree.valid == fits, (run.invalid, wanted)
    if fits:
        assert run.stage.tree.value == wanted
        assert type(run.stage.tree.value) is made.model
        assert not run.invalid
    else:
        assert run.invalid


@enough
@given(made=schemas.models(), draw=st.data(), places=splits.cuts(20))
def test_law_12_a_schema_changes_no_structure_event(
    made: schemas.Made, draw: st.DataObject, places: list[float]
) -> None:
    # Strings that hold JSON may be opened where a container is wanted: not what this is about.
    data = draw.draw(made.data)
    text = json.dumps(data)
    if any(string.lstrip()[:1] in ("{", "[") for string in _strings(data) if string.strip()):
        return
    run = schemas.stream(made.model, splits.chop(text, places), strict=True)
    plain = merge(event for event in run.machine_events if event.event_type != "start")
    assert merge(run.events) == plain
    # and for every split the same
    again = schemas.stream(made.model, list(text), strict=True)
    assert merge(again.events) == plain
    assert [invalid.to_dict() for invalid in again.invalid] == [invalid.to_dict() for invalid in run.invalid]


@enough
@given(made=schemas.models(), draw=st.data())
def test_no_validator_sees_a_half_value(made: schemas.Made, draw: st.DataObject) -> None:
    data = draw.draw(made.data)
    made.seen.clear()
    schemas.stream(made.model, list(json.dumps(data)), strict=True, each=lambda stage, _: stage.tree.snapshot())
    assert set(made.seen) <= _strings(data)


@enough
@given(made=schemas.models(), draw=st.data())
def test_partials_hold_only_closed_values_and_prefixes_of_strings(made: schemas.Made, draw: st.DataObject) -> None:
    data = draw.draw(made.data)
    builder: PartialBuilder[Any] = PartialBuilder(made.model)
    run = schemas.stream(made.model, list(json.dumps(data)), strict=True)
    closed: dict[tuple[str | int, ...], Any] = {}
    for event in run.events:
        if event.event_type == "done":
            closed[event.parts] = event.value
        _check(builder.update([event]), data, closed, (), made.model)


def _check(shown: Any, data: Any, closed: dict[Any, Any], parts: tuple[str | int, ...], model: Any) -> None:
    """`shown` says no more about `data` than what is closed, and the beginnings of open strings."""
    if shown is None or parts in closed:
        return
    if isinstance(shown, PartialModel):
        source = type(shown).partial_of
        fields = source.model_fields if issubclass(source, BaseModel) else {}
        for name, value in shown.__dict__.items():
            field = fields.get(name)
            alias = field.validation_alias if field is not None else None
            keys = (
                [name]
                if alias is None
                else [alias]
                if isinstance(alias, str)
                else list(getattr(alias, "choices", [name]))
            )
            key = next((key for key in keys if key in data), None)
            if key is None:
                assert name not in shown.model_fields_set
            elif name in shown.model_fields_set:
                _check(value, data[key], closed, (*parts, key), None)
    elif isinstance(shown, dict):
        assert isinstance(data, dict)
        for key, value in shown.items():
            _check(value, data[key], closed, (*parts, key), None)
    elif isinstance(shown, list):
        assert isinstance(data, list)
        for index, value in enumerate(shown):
            _check(value, data[index], closed, (*parts, index), None)
    else:
        assert isinstance(shown, str), (parts, shown)
        assert isinstance(data, str)
        assert data.startswith(shown)
