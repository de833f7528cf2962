"""Faults of races in parts: what a part passes on, what is drawn again, and what counts once."""

from __future__ import annotations

from tests.mutation.fault import Fault

_MERGE = "sampling/samplers/merge.py"
_TAPE = "sampling/samplers/entropy.py"
_PARTS = "measurements/_in_parts.py"
_GROUPS = "combinators/_spark_groups.py"
_SPARK = "tables/spark.py"

FAULTS = (
    Fault(
        "one-finalist-less",
        "a part of more than k candidates drops its k-th finalist",
        _MERGE,
        "finalists = np.isin(racers.index, best)",
        "finalists = np.isin(racers.index, best[: k - (len(values) > k > 1)])",
    ),
    Fault(
        "digits-redrawn",
        "where parts meet, digits after the first 16 are drawn again",
        _MERGE,
        "    tape = ReplayEntropy(joined.words, entropy)",
        "    tape = ReplayEntropy((), entropy)",
    ),
    Fault(
        "digits-redrawn-at-the-end",
        "the last decision draws digits again",
        _MERGE,
        "race.ordered, ReplayEntropy(part.words, entropy))",
        "race.ordered, ReplayEntropy((), entropy))",
    ),
    Fault(
        "unread-digits-lost",
        "digits that a merge did not need to read again are forgotten",
        _TAPE,
        "return tuple(self._words.get(racer, ()))  # [all-words]",
        "return tuple(self._words.get(racer, ())[: self._read.get(racer, 0)])  # [all-words]",
    ),
    Fault(
        "ties-by-part",
        "without noise equal scores are ranked by the order in which parts come",
        _MERGE,
        "key=lambda place: (-race.sign * scores[place], labels[place]))",
        "key=lambda place: -race.sign * scores[place])",
    ),
    Fault(
        "sets-in-order",
        "the winners of a set are listed best first",
        _MERGE,
        "return winners if race.ordered else sorted(winners)  # [order]",
        "return winners  # [order]",
    ),
    Fault(
        "integers-as-floats",
        "where parts have integers of different types, they become floats",
        _MERGE,
        "scores.astype(object) for scores in values",
        "scores.astype(np.float64) for scores in values",
    ),
    Fault(
        "only-the-last-part",
        "a merged part has the size of the first of its parts",
        _MERGE,
        "size=sum(part.size for part in parts)",
        "size=parts[0].size",
    ),
    Fault(
        "parts-unchecked",
        "scores of parts are not held against the domain",
        _PARTS,
        "values = domain.element_domain.validate_array(scores)",
        "values = type(domain.element_domain)(domain.element_domain.T).validate_array(scores)",
    ),
    Fault(
        "size-unchecked",
        "the number of all scores is not held against the domain",
        _PARTS,
        "domain.size is not None and whole.size != domain.size",
        "domain.size is not None and whole.size > domain.size",
    ),
    Fault(
        "part-twice",
        "a part that is returned twice counts twice",
        _PARTS,
        "            if number in sizes:",
        "            if sizes.get(number, -1) > 10**9:",
    ),
    Fault(
        "part-lost",
        "a part that was not returned is not missed",
        _PARTS,
        "if handed != [*sorted(sizes), None]:",
        "if len(handed) < len(sizes):",
    ),
    Fault(
        "places-from-one",
        "indices into later parts begin with those of the part before",
        _PARTS,
        "for number in sorted(sizes)), initial=0))",
        "for number in sorted(sizes)), initial=0))[1:] or [0]",
    ),
    Fault(
        "partition-twice",
        "a partition that Spark returns twice counts twice",
        _SPARK,
        '[row["number"] for row in found] != list(range(len(found)))',
        '{row["number"] for row in found} != set(range(len({row["number"] for row in found})))',
    ),
    Fault(
        "failed-partition-skipped",
        "a partition whose worker reports an error is left out",
        _SPARK,
        "            raise answer  # [error]\n    return answers",
        "            continue  # [error]\n    return [one for one in answers if not isinstance(one, TopKError)]",
    ),
    Fault(
        "torn-group",
        "a group whose counts two workers have is released twice",
        _GROUPS,
        "if len(np.unique(homes)) < len(homes):",
        "if len(np.unique(homes)) > len(homes):",
    ),
    Fault(
        "group-cut",
        "a worker draws for the part of a group that has come so far",
        _GROUPS,
        "end = int(np.searchsorted(cells[0], cells[0][-1]))",
        "end = int(np.searchsorted(cells[0], cells[0][-1], side='right'))",
    ),
    Fault(
        "other-groups-drawn",
        "a worker draws for groups of other members, too",
        _GROUPS,
        "cells if wanted is None else cells[:, np.isin(cells[0], wanted)]",
        "cells",
    ),
    Fault(
        "groups-in-the-order-of-workers",
        "releases come in the order of the workers' answers, and not in that of the groups",
        _GROUPS,
        "for _, releases in found])[order]",
        "for _, releases in found])",
    ),
    Fault(
        "several-members-sent",
        "the workers draw with the first of several members for all",
        _GROUPS,
        "if any(members[at] is not member for at in places):",
        "if all(members[at] is not member for at in places):",
    ),
    Fault(
        "text-of-spark",
        "what Spark says when it fails is passed on",
        _SPARK,
        "    except Exception:\n        failed = True\n    assert failed\n",
        "    except Exception as error:\n        raise ForeignError(str(error)) from error\n",
    ),
)
