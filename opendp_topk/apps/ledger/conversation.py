"""Conversations that are paid from a ledger, in full at the start or query by query, and survive their process.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

from typing import Any, NoReturn

from ...errors import ParameterError, PickleError, QueryError
from .amounts import Amount, fits, from_texts, left, to_texts, total
from .charges import charge_in
from .following import Following
from .journal import Journal
from .records import Record
from .reservation import Reservation, require_presented

WHAT = "conversation"
PREPAID = "prepaid"  # says of a conversation whether it has a budget of its own, which may be 0


class Conversation(Following):
    """Queries about the same data, each chosen after the answers before it: ``conversation(query)``.

    Made by :meth:`Ledger.conversation` and, in another process or later, :meth:`Ledger.resume`. Every query is an
    entry of the ledger, on the disk before it is answered. ``number`` is that of the entry which began it.
    """

    def __init__(self, journal: Journal, begun: Record, data: Any) -> None:
        self._data = data
        self._paid: Amount | None = None  # at the start; None where it is paid query by query
        self._used: Amount = journal.account.nothing
        super().__init__(journal, begun)

    # proof-region: conversation
    def __call__(
        self,
        query: Any,
        *,
        d_in: Any = None,
        delta: Any = None,
        label: str = "",
        at_most: int | None = None,
        shared: bool = False,
    ) -> Any:
        """A release of the measurement ``query``, paid first; otherwise as :meth:`Ledger.release`.

        Raises:
            BudgetError: It does not fit with what is left of the conversation's budget, or of the ledger's.
            QueryError: The conversation was closed, here or elsewhere.
        """
        charge = charge_in(self._journal, query, d_in, delta, label, at_most, shared)
        require_presented(query, self._data)  # [presented-to-query]
        self._learn()  # what is old is read before others have to wait

        def step() -> dict[str, Any]:
            self._learn()  # [all-steps]
            if self._closed:
                raise QueryError("this conversation was closed")
            paid = self._paid
            if paid is None or charge.cost is None:
                return {"within": self.number}  # [step-by-step]
            used = total(self._used, charge.cost)
            if not fits(used, paid):  # [within]
                raise self._journal.refusal(charge.shown, self.remaining())
            return {"within": self.number, "used": to_texts(used)}  # [used]

        made = self._journal.debit(charge.cost, charge.shown, charge.said, step)  # [step-first]
        return Reservation(self._journal, made, query).release(self._data)

    def _take(self, fields: dict[str, Any]) -> None:
        if fields["kind"] == "debit" and fields["entries"] == self.number and fields["measurement"] == WHAT:
            cost = from_texts(fields["cost"])
            self._paid = cost if fields.get(PREPAID, any(cost)) else None  # [prepaid]
        if fields["kind"] == "debit" and fields.get("within") == self.number and "used" in fields:
            self._used = tuple(map(max, self._used, from_texts(fields["used"])))  # [last-used]

    # end-proof-region: conversation

    def spent(self) -> Any:
        """What its queries were charged so far; of one that is paid step by step the ledger's history tells."""
        self._learn()
        return self._journal.shown(self._used)

    def remaining(self) -> Any:
        """What is left of what was paid at the start."""
        paid = self._paid
        if paid is None:
            raise ParameterError("this conversation is paid query by query: ask the ledger what remains")
        self._learn()
        return left(self._journal.account.counted, paid[:2], self._used[:2])

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PickleError("a conversation cannot be copied or pickled: resume it by its number, with Ledger.resume")
