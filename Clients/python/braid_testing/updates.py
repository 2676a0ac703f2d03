"""Snapshots, and updates that change them. docs/http-api/sessions-and-snapshots.md describes snapshots, and
docs/http-api/following.md describes updates.
"""
from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, NotRequired, TypedDict

IndexPath = list[int]


class Row(TypedDict):
    """A displayed row."""

    id: NotRequired[str]
    cell: str
    model: NotRequired[Any]
    viewModel: NotRequired[Any]
    editing: NotRequired[str]
    movable: NotRequired[bool]
    height: NotRequired[float]


class Section(TypedDict):
    """A displayed section. In a window, `offset` is the index of the first element of `rows` among all rows of the
    section.
    """

    id: str
    header: Any
    footer: Any
    rowCount: int
    rows: list[Row]
    diffable: NotRequired[bool]
    movesTo: NotRequired[list[str]]
    offset: NotRequired[int]


class Snapshot(TypedDict):
    """The displayed table of a session at one revision, or a window of it."""

    session: NotRequired[str]
    table: NotRequired[str]
    epoch: NotRequired[str]
    revision: int
    totalRowCount: int
    sections: list[Section]
    state: Any
    empty: NotRequired[Any]
    window: NotRequired[dict[str, Any]]


Stage = dict[str, list[Any]]
"""The operations of one stage, by name: `deleteRows`, `insertRows`, …"""

Update = TypedDict(
    "Update",
    {
        "from": int, "to": int, "stages": list[Stage], "totalRowCount": int, "state": NotRequired[Any], "empty": NotRequired[Any],
        "by": NotRequired[dict[str, Any]], "extents": NotRequired[list[dict[str, int]]], "window": NotRequired[dict[str, Any]],
    },
)
"""The change between two revisions."""


class UpdateFault(Exception):
    """Raised if an update does not fit the snapshot, or breaks a rule without which a table view could crash."""

    def __init__(self, detail: str, stage: int | None = None) -> None:
        super().__init__(detail if stage is None else f"stage {stage}: {detail}")
        self.detail = detail
        self.stage = stage
        """The number of the stage, from 0. `None` if the fault concerns the whole update."""


class Step(NamedTuple):
    """One stage of an update, with the snapshots before and after the stage."""

    number: int
    stage: Stage
    before: Snapshot
    after: Snapshot


def applying(update: Update, snapshot: Snapshot) -> Snapshot:
    """Returns the snapshot after the update. The given snapshot does not change, and shares its unchanged sections and
    rows with the result.

    Raises `UpdateFault` if the update does not fit the snapshot or breaks a rule of the HTTP API.
    """
    if snapshot["revision"] != update["from"]:
        raise UpdateFault(f"the update leads on from revision {update['from']}, the snapshot is of revision {snapshot['revision']}")
    last = snapshot
    for step in stages(update, snapshot):
        last = step.after
    result = last.copy()
    result["revision"] = update["to"]
    if "window" in snapshot:
        # In a window, `totalRowCount` and `rowCount` also count rows outside of the window, so they come from the
        # update.
        result["totalRowCount"] = update["totalRowCount"]
        if "window" in update:
            result["window"] = update["window"]
        result["sections"] = _with_extents(last["sections"], update.get("extents", []))
    elif last["totalRowCount"] != update["totalRowCount"]:
        raise UpdateFault(f"`totalRowCount` is {update['totalRowCount']}, but there are {last['totalRowCount']} rows")
    if "state" in update:
        result["state"] = update["state"]
    if "empty" in update:
        if update["empty"] is None:
            result.pop("empty", None)
        else:
            result["empty"] = update["empty"]
    return result


def stages(update: Update, snapshot: Snapshot) -> Iterator[Step]:
    """Yields the stages of an update in order. The snapshots of a stage still have the revision, `state` and `empty`
    from before the update, and in a window `totalRowCount`, `window`, `offset` and `rowCount`; `applying` sets the new
    ones.
    """
    before = snapshot
    for number, stage in enumerate(update["stages"]):
        after = before.copy()
        after["sections"] = _Stage(stage, before["sections"], number).applied(is_window="window" in snapshot)
        if "window" not in snapshot:
            after["totalRowCount"] = sum(len(section["rows"]) for section in after["sections"])
        yield Step(number, stage, before, after)
        before = after


def _with_extents(sections: list[Section], extents: list[dict[str, int]]) -> list[Section]:
    """Returns the sections of a window with the new values of `offset` and `rowCount`.

    Raises `UpdateFault` if the rows in the sections are not consecutive rows of the table.
    """
    result = sections.copy() if extents else sections
    for extent in extents:
        index = extent["section"]
        if not _is_index(index, len(result)):
            raise UpdateFault(f"`extents` names section {index}, but the window has {len(result)}")
        section = result[index].copy()
        section["offset"], section["rowCount"] = extent["offset"], extent["rowCount"]
        result[index] = section
    for index, section in enumerate(result):
        offset, count = section.get("offset", 0), section["rowCount"]
        end = offset + len(section["rows"])
        if offset < 0 or (index > 0 and offset > 0) or end > count or (index < len(result) - 1 and end < count):
            raise UpdateFault(
                f"the window is not one run of rows: of the {count} rows of section {index}, "
                f"it has {len(section['rows'])} from index {offset} on"
            )
    return result


_OPERATIONS = {
    "deleteSections", "insertSections", "moveSections", "reloadSections", "updateSections",
    "deleteRows", "insertRows", "moveRows", "reloadRows", "updateRows",
}


def _is_index(index: Any, count: int) -> bool:
    return type(index) is int and 0 <= index < count


class _Stage:
    """Applies one stage to the sections before it, and checks the rules for stages."""

    def __init__(self, stage: Stage, before: list[Section], number: int) -> None:
        self.stage = stage
        self.before = before
        self.number = number
        self.fates: dict[int, str] = {}
        """What happens to each section, by its index before the stage."""
        self.origins: list[tuple[str, Any]] = []
        """Where each section after the stage comes from: ("inserted", section), ("moved", index) or ("stayed", index)."""
        self.staying: dict[int, list[Row | None]] = {}
        """The rows of changed sections, by the index before the stage. `None` for a row that was removed."""
        self.arriving: dict[int, dict[int, Row]] = {}
        """The rows that are inserted or moved, by the indexes of their section and of themselves after the stage."""
        self.sources: set[tuple[int, int]] = set()

    def fault(self, detail: str) -> UpdateFault:
        return UpdateFault(detail, self.number)

    def operations(self, name: str) -> list[Any]:
        return self.stage.get(name, [])

    def applied(self, is_window: bool) -> list[Section]:
        for name in self.stage:
            if name not in _OPERATIONS:
                raise self.fault(f"there is no operation `{name}`")
        if not any(self.stage.values()):
            raise self.fault("it has no operations")
        if any(map(self.operations, ["reloadSections", "reloadRows"])) and any(map(self.operations, ["moveSections", "moveRows"])):
            raise self.fault("reloads and moves share it")
        self.find_sections()
        self.find_rows()
        reloads: dict[int, Section] = {change["at"]: change["section"] for change in self.operations("reloadSections")}
        updates = {change["at"]: change for change in self.operations("updateSections")}
        return [self.section(index, *origin, reloads, updates, is_window) for index, origin in enumerate(self.origins)]

    def find_sections(self) -> None:
        for index in self.operations("deleteSections"):
            self.settle(index, "deleted")
        for move in self.operations("moveSections"):
            self.settle(move["from"], "moved")
        for change in self.operations("reloadSections"):
            self.settle(change["at"], "reloaded")
        for change in self.operations("updateSections"):
            self.settle(change["at"], "updated")
            if not change.keys() & {"header", "footer", "movesTo"}:
                raise self.fault(f"the update of section {change['at']} changes nothing")
        count = len(self.before) - len(self.operations("deleteSections")) + len(self.operations("insertSections"))
        origins: list[tuple[str, Any] | None] = [None] * count
        arrivals = [(insert["at"], ("inserted", insert["section"])) for insert in self.operations("insertSections")]
        arrivals += [(move["to"], ("moved", move["from"])) for move in self.operations("moveSections")]
        for index, origin in arrivals:
            if not _is_index(index, count):
                raise self.fault(f"no section can come to {index}: there are {count} sections after the stage")
            if origins[index]:
                raise self.fault(f"two sections come to {index}")
            origins[index] = origin
        stayed = (index for index in range(len(self.before)) if self.fates.get(index) not in ("deleted", "moved"))
        self.origins = [origin or ("stayed", next(stayed)) for origin in origins]

    def settle(self, index: int, fate: str) -> None:
        if not _is_index(index, len(self.before)):
            raise self.fault(f"section {index} cannot be {fate}: there are {len(self.before)} sections before the stage")
        if index in self.fates:
            raise self.fault(f"section {index} is both {self.fates[index]} and {fate}")
        self.fates[index] = fate

    def find_rows(self) -> None:
        for at in self.operations("deleteRows"):
            self.take(at, "deleted")
        for move in self.operations("moveRows"):
            self.take(move["from"], "moved", move.get("row"))
        for change in self.operations("reloadRows"):
            self.take(change["at"], "reloaded", change["row"], change["row"])
        for change in self.operations("updateRows"):
            self.take(change["at"], "updated", change["row"], change["row"])
        for insert in self.operations("insertRows"):
            self.arrive(insert["row"], insert["at"])
        for move in self.operations("moveRows"):
            section, row = move["from"]
            self.arrive(move.get("row") or self.before[section]["rows"][row], move["to"])

    def take(self, at: IndexPath, what: str, replacement: Row | None = None, left: Row | None = None) -> None:
        """Replaces a row by `left`, or removes the row if `left` is `None`. `at` is the row's index path before the
        stage.
        """
        section, row = at
        path = f"[{section},{row}]"
        if not _is_index(section, len(self.before)) or not _is_index(row, len(self.before[section]["rows"])):
            raise self.fault(f"there is no row {path} to be {what} before the stage")
        if (section, row) in self.sources:
            raise self.fault(f"the row {path} is {what} and the source of another operation")
        self.sources.add((section, row))
        fate = self.fates.get(section, "updated")
        if fate != "updated":
            raise self.fault(f"the row {path} is {what}, but its section is {fate} in the same stage")
        old = self.before[section]["rows"][row]
        if replacement and replacement.get("id") != old.get("id"):
            raise self.fault(f"the row {path}, {_text(old)}, is {what} as another row, {_text(replacement)}")
        self.staying.setdefault(section, list(self.before[section]["rows"]))[row] = left

    def arrive(self, row: Row, at: IndexPath) -> None:
        section, index = at
        path = f"[{section},{index}]"
        if not _is_index(section, len(self.origins)):
            raise self.fault(f"no row can come to {path}: there are {len(self.origins)} sections after the stage")
        kind, origin = self.origins[section]
        fate = self.fates.get(origin, "updated") if kind == "stayed" else kind
        if fate != "updated":
            raise self.fault(f"a row comes to {path}, but its section is {fate} in the same stage")
        if index in self.arriving.setdefault(section, {}):
            raise self.fault(f"two rows come to {path}")
        self.arriving[section][index] = row

    def section(
        self, index: int, kind: str, origin: Any, reloads: dict[int, Section], updates: dict[int, dict[str, Any]], is_window: bool,
    ) -> Section:
        if kind == "inserted":
            inserted: Section = origin
            return inserted
        old: Section = self.before[origin]
        if kind == "moved":
            return old
        if origin in reloads:
            if reloads[origin]["id"] != old["id"]:
                raise self.fault(f'section {origin}, "{old["id"]}", is reloaded as "{reloads[origin]["id"]}"')
            return reloads[origin]
        update = updates.get(origin, {})
        stayed, arrivals = self.staying.get(origin), self.arriving.get(index)
        if not update and stayed is None and arrivals is None:
            return old
        section = old.copy()
        if "header" in update:
            section["header"] = update["header"]
        if "footer" in update:
            section["footer"] = update["footer"]
        if "movesTo" in update:
            if update["movesTo"] is None:
                section.pop("movesTo", None)
            else:
                section["movesTo"] = update["movesTo"]
        if stayed is not None or arrivals is not None:
            rows = old["rows"] if stayed is None else [row for row in stayed if row is not None]
            section["rows"] = self.filled(index, rows, arrivals or {})
        if not is_window:
            section["rowCount"] = len(section["rows"])
        return section

    def filled(self, section: int, stayed: list[Row], arrivals: dict[int, Row]) -> list[Row]:
        """Returns the rows of a section after a stage: the arriving rows at their new indexes, and the other rows
        around them in their old order.
        """
        count = len(stayed) + len(arrivals)
        outside = [index for index in arrivals if not _is_index(index, count)]
        if outside:
            raise self.fault(f"no row can come to [{section},{min(outside)}]: the section has {count} rows after the stage")
        others = iter(stayed)
        return [arrivals[index] if index in arrivals else next(others) for index in range(count)]


def _text(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))
