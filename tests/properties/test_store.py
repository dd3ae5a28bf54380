"""The store against a plain model of it: any order of saving, going on and deleting gives the histories that lists would give.

And the books are right: the totals are what the rows hold, and nothing stays that no response needs.
"""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from dragoman.core.errors import NotFound
from dragoman.store.base import StoredEvent
from support.stores import answer, ids, opened

NAMES = st.integers(0, 7).map(str)
SAVE = st.tuples(st.just("save"), NAMES, st.none() | NAMES)
DELETE = st.tuples(st.just("delete"), NAMES, st.none())
EVENT = st.tuples(st.just("event"), NAMES, st.none())


class Model:
    """Histories by name."""

    def __init__(self) -> None:
        self.histories: dict[str, str] = {}

    def save(self, name, previous):
        if name in self.histories:
            return  # saved again: where it goes on from was settled the first time
        before = "" if previous is None else self.histories[previous] + " "
        self.histories[name] = f"{before}in_{name} out_{name}"


async def apply(store, model, step, number):
    match step:
        case "save", name, previous:
            await store.save_response("ada", answer(name, previous=previous))
            model.save(name, previous)
        case "delete", name, _:
            await store.delete_response("ada", f"resp_{name}")
            del model.histories[name]
        case _, name, _:
            await store.append_events("ada", f"resp_{name}", [StoredEvent(sequence=number, name="e", data=b"{}")])


ROWS = """
SELECT (SELECT count(*) FROM dragoman_entries) AS entries,
       (SELECT sum(size) FROM dragoman_entries) AS entry_bytes,
       (SELECT sum(size) FROM dragoman_turns) AS turn_bytes,
       (SELECT sum(128 + length(body)) FROM dragoman_responses) AS bodies,
       (SELECT sum(128 + length(data)) FROM dragoman_events) AS events,
       (SELECT count(*) * 128 FROM dragoman_turns) AS turns,
       (SELECT sum(128 + length(data)) FROM dragoman_items) AS items,
       (SELECT count(*) FROM dragoman_turns AS turn WHERE
            NOT EXISTS (SELECT 1 FROM dragoman_responses WHERE turn = turn.key)
            AND NOT EXISTS (SELECT 1 FROM dragoman_turns AS child WHERE child.parent = turn.key)) AS needless,
       (SELECT count(*) FROM dragoman_items WHERE turn NOT IN (SELECT key FROM dragoman_turns)) AS lost,
       (SELECT entries FROM dragoman_totals) AS counted,
       (SELECT bytes FROM dragoman_totals) AS counted_bytes
"""


def check_books(row):
    assert row.needless == row.lost == 0
    assert row.counted == row.entries
    assert (row.entry_bytes or 0) == (row.bodies or 0) + (row.events or 0)
    assert (row.turn_bytes or 0) == row.turns + (row.items or 0)
    assert row.counted_bytes == (row.entry_bytes or 0) + (row.turn_bytes or 0)


@settings(max_examples=60, deadline=None)
@given(st.lists(SAVE | SAVE | DELETE | EVENT, max_size=25))
def test_histories_are_those_of_a_plain_model_and_the_books_are_right(steps):
    async def run():
        model = Model()
        async with opened("memory") as store:
            for number, step in enumerate(steps):
                try:
                    await apply(store, model, step, number)
                except NotFound:
                    missing = step[2] if step[0] == "save" else step[1]
                    assert missing not in model.histories
            for name, history in model.histories.items():
                assert ids(await store.history("ada", f"resp_{name}")) == history
            check_books(await store._transactions.read(lambda connection: connection.execute(text(ROWS)).one()))

    asyncio.run(run())
