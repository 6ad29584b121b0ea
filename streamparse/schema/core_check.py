"""Checks made from parts of a pydantic core schema."""

from __future__ import annotations

from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import PydanticOmit, PydanticUseDefault, SchemaValidator

from .shape import Check, Checked, crash

Core = dict[str, Any]
"""One node of a core schema."""

ANY: Core = {"type": "any"}


class CoreCheck:
    """Checks with the validator of one part of a core schema; it is built when it is first used."""

    __slots__ = ("_assigning", "_config", "_definitions", "_schema", "validate")

    validate: Any
    """Gives the typed value; raises whatever pydantic, or a validator, raises."""

    def __init__(self, schema: Core, config: Core | None, definitions: dict[str, Core] | None = None) -> None:
        self._schema = schema
        self._config = config
        self._definitions = definitions
        self._assigning: SchemaValidator | None = None
        self.validate = self._first

    def _first(self, value: Any) -> Any:
        self.validate = self._build(self._schema).validate_python
        return self.validate(value)

    def _build(self, schema: Core) -> SchemaValidator:
        if self._definitions:
            schema = {"type": "definitions", "schema": schema, "definitions": list(self._definitions.values())}
        return SchemaValidator(schema, self._config)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    def __call__(self, value: Any, context: tuple[str, dict[str, Any]] | None = None, /) -> Checked:
        """The typed value or the errors, whatever the validators raise."""
        try:
            if context is None:
                return Checked(self.validate(value))
            # A validator that looks at `info.data` or `info.field_name` works inside a model only. Assigning one field
            # of a bare set of fields gives it both, and runs nothing else.
            name, earlier = context
            if self._assigning is None:
                field = {"type": "model-field", "schema": self._schema}
                fields = {"type": "model-fields", "fields": {name: field}, "extra_behavior": "ignore"}
                self._assigning = self._build(fields)
            return Checked(cast("Any", self._assigning.validate_assignment(earlier, name, value))[0][name])
        except Exception as error:  # noqa: BLE001  # a validator of the user's may raise anything; the stream goes on
            return self.failed(error, value, 0 if context is None else 1)

    def failed(self, error: Exception, value: Any, strip: int = 0) -> Checked:
        """The errors where the validator raised. `strip` is how many steps of their places are not the value's."""
        if isinstance(error, ValidationError):
            found = error.errors(include_url=False)
            return Checked(None, tuple({**details, "loc": details["loc"][strip:]} for details in found))
        if isinstance(error, (PydanticUseDefault, PydanticOmit)):
            return Checked(None, (), True)
        return Checked(None, (crash(error, value),))


class Chain:
    """Checks one after the other, each on the value that the one before gave."""

    __slots__ = ("_first", "_then")

    def __init__(self, first: Check, then: Check) -> None:
        self._first = first
        self._then = then

    def __call__(self, value: Any, context: tuple[str, dict[str, Any]] | None = None, /) -> Checked:
        """The last value or the first errors."""
        checked = self._first(value, context)
        return checked if checked.errors or checked.whole else self._then(checked.value, context)


class ModelCheck:
    """Makes an instance of a pydantic model from its typed fields, and runs nothing but its `model_post_init`.

    pydantic's own validator for a model cannot be had without those of its fields: where the class has one ready, that
    is taken whatever the schema says. So the steps behind the fields are taken here. `fields` gives what pydantic's
    validator for a set of fields gives (values, extra values, names that were given), or for a root model the root.
    """

    __slots__ = ("_fields", "_model", "_post_init", "_root")

    def __init__(self, model: type, fields: Check, post_init: str | None, *, root: bool) -> None:
        self._model: Any = model
        self._fields = fields
        self._root = root
        self._post_init: Check | None = None
        if post_init is not None:
            # Inside a validator, so that a ValueError it raises becomes pydantic's error.
            function = {"type": "no-info", "function": _Prepare(post_init)}
            self._post_init = CoreCheck({"type": "function-after", "function": function, "schema": ANY}, None)

    def __call__(self, value: Any, context: tuple[str, dict[str, Any]] | None = None, /) -> Checked:
        """The instance or the errors of its fields."""
        checked = self._fields(value)
        if checked.errors or checked.whole:
            return checked
        values, extra, given = ({"root": checked.value}, None, {"root"}) if self._root else checked.value
        instance: Any = object.__new__(self._model)
        object.__setattr__(instance, "__dict__", values)
        object.__setattr__(instance, "__pydantic_fields_set__", given)
        if not self._root:  # a root model has neither
            object.__setattr__(instance, "__pydantic_extra__", extra)
            object.__setattr__(instance, "__pydantic_private__", None)
        return Checked(instance) if self._post_init is None else self._post_init(instance)


class _Prepare:
    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, instance: Any) -> Any:
        getattr(instance, self._name)(None)
        return instance
