"""Faults in what is known of ranks, limits and walks: bounds that err on the wrong side, odds that are misreported."""

from __future__ import annotations

from ..fault import Fault

FAULTS = (
    Fault(
        "others-not-passed",
        "where most candidates have one value, one with another score is taken for the next of them",
        "samplers/ladder.py",
        'place, side="right"))  # [past]',
        'place, side="left"))  # [past]',
    ),
    Fault(
        "head-of-one",
        "those who matter are measured from the best candidate instead of the one with the rank",
        "samplers/head.py",
        "ascending(columns)[[len(columns) - rank]]",
        "ascending(columns)[[-1]]",
    ),
    Fault(
        "others-like-the-last",
        "candidates who were not sorted are proposed as often as if they were as good as the last who were",
        "samplers/ladder.py",
        "np.append(self.best, self.cut)",
        "np.append(self.best, self.best[-1])",
    ),
    Fault(
        "head-not-deep-enough",
        "candidates who belong to layers of the joint mechanism are not counted in them",
        "samplers/joint.py",
        "_level(_last(len(values), k, ordered)) * scale, scale)",
        "_level(1) * scale, scale)",
    ),
    Fault(
        "rougher-than-promised",
        "sets are drawn from a rougher walk than the one whose promise weighs their layer",
        "samplers/joint.py",
        "_outputs(nested[i].ceilings, task.ordered, nested[i].detail)",
        "_outputs(nested[i].ceilings, task.ordered, _DETAIL)",
    ),
    Fault(
        "promise-of-others",
        "a finer layer has the number of sets of one that is finer still",
        "samplers/joint.py",
        "else _log_size(layer.ceilings, False, detail)",
        "else _log_size(layer.ceilings, False, 2 * detail)",
    ),
    Fault(
        "wide-by-rough-bounds",
        "layers of sets are split by their first, rough bounds alone",
        "samplers/joint.py",
        "<= _NARROW + len(kept) / many:",
        "<= _NARROW + len(kept) / many or detail > _DETAIL:",
    ),
    Fault(
        "patience-without-end",
        "layers of which all proposals are in vain are kept",
        "samplers/joint.py",
        "detail * _FINER if detail < task.k else detail, inf)",
        "detail, _MANY)",
    ),
    Fault(
        "odds-rounded-away",
        "what weights that are not listed may add to a walk's odds is left out",
        "samplers/walks.py",
        "    unlisted = 2 * other * before.peak\n",
        "    unlisted = 0 * other * before.peak\n",
    ),
    Fault(
        "outside-forgotten",
        "bounds that were cut off count as nothing",
        "samplers/walks.py",
        "        outside += least * _SLACK  # [trim]\n",
        "        outside += 0 * least  # [trim]\n",
    ),
    Fault(
        "damped-too-much",
        "bounds of a walk are damped by 3 per cent more than the tilts say",
        "samplers/walks.py",
        "min(new / tilt * (1 + 2.0**-51), 1.0)",
        "min(new / tilt * 0.97, 1.0)",
    ),
    Fault(
        "chance-without-binomials",
        "the probability of a walk leaves out which members of a block it takes",
        "samplers/walks.py",
        " + [bincoef(b, t) for _, b, t in filled]",
        " + [mpz(1) for _, b, t in filled]",
    ),
    Fault(
        "promise-too-high",
        "a walk promises each set a probability that is 3 per cent too high",
        "samplers/walks.py",
        "powers * _LN2 + 2.0**-20",
        "powers * _LN2 - 0.03",
    ),
    Fault(
        "layer-not-looked-at",
        "sets that a walk draws beyond its layer are taken for members of it",
        "samplers/joint.py",
        "        if loss > limits[i]:\n",
        "        if loss > limits[-1]:\n",
    ),
    Fault(
        "cut-rounded-down",
        "a threshold that is no float becomes the float below it",
        "samplers/ladder.py",
        "np.where(missing > 0, np.nextafter(cut, np.inf), cut)",
        "np.where(missing > 0, cut, cut)",
    ),
    Fault(
        "zeros-differ",
        "the zero of the other sign is not found among the holders of a rank",
        "samplers/ladder.py",
        "        table[_hashed(-values[values == 0])] = True  # [both-zeros]\n",
        "",
    ),
    Fault(
        "ties-from-the-end",
        "among equal scores the second index has the first rank",
        "samplers/ladder.py",
        "[(np.cumsum(counts) - counts)[which] + place]",
        "[(np.cumsum(counts) - 1)[which] - place]",
    ),
    Fault(
        "unfair-words",
        "words that favour small residues are kept",
        "samplers/subsets.py",
        "np.flatnonzero(words > fair)",
        "np.flatnonzero(words > words.max())",
    ),
)
