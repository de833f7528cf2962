"""More faults made up by chance, of numbers and of the bridge; see ``chance``."""

from __future__ import annotations

from tests.mutation.fault import Fault

FAULTS = (
    Fault(
        "chance-numeri-arithmetic-0",
        "0 becomes -1 in add",
        "numerics/arithmetic.py",
        "        return self._down.add(x[0], y[0]), self._up.add(x[1], y[1])  # [add]\n",
        "        return self._down.add(x[0], y[-1]), self._up.add(x[1], y[1])  # [add]\n",
    ),
    Fault(
        "chance-numeri-arithmetic-1",
        "1 becomes 0 in log",
        "numerics/arithmetic.py",
        "        return self._down.log(x[0]), self._up.log(x[1])  # [increasing]\n",
        "        return self._down.log(x[0]), self._up.log(x[0])  # [increasing]\n",
    ),
    Fault(
        "chance-numeri-arithmetic-5",
        "1 becomes 0 in exp",
        "numerics/arithmetic.py",
        "        return self._down.exp(x[0]), self._up.exp(x[1])  # [increasing]\n",
        "        return self._down.exp(x[0]), self._up.exp(x[0])  # [increasing]\n",
    ),
    Fault(
        "chance-numeri-floatlog-0",
        "- becomes + before t * (1 / 3 - t * 0.25) in _log",
        "numerics/floats.py",
        "    polynomial = t * (1 - t * (0.5 - t * (1 / 3 - t * 0.25)))  # [taylor]\n",
        "    polynomial = t * (1 - t * (0.5 + t * (1 / 3 - t * 0.25)))  # [taylor]\n",
    ),
    Fault(
        "chance-bridge-descriptors-3",
        "1 becomes 0 in distance_in",
        "apps/bridge/descriptors.py",
        "    limit = math.inf if Q == _FLOAT else _INTEGERS[Q][1] + 1\n",
        "    limit = math.inf if Q == _FLOAT else _INTEGERS[Q][1] + 0\n",
    ),
    Fault(
        "chance-bridge-descriptors-6",
        "round_down becomes round_up in _inside",
        "apps/bridge/descriptors.py",
        "        return round_up(lower), round_down(upper)\n",
        "        return round_up(lower), round_up(upper)\n",
    ),
    Fault(
        "chance-bridge-incoming-4",
        "any becomes all in _holds",
        "apps/bridge/incoming.py",
        "    return isinstance(released, kinds) or any(_contains_instance(one, kinds) for one in inner)\n",
        "    return isinstance(released, kinds) or all(_contains_instance(one, kinds) for one in inner)\n",
    ),
    Fault(
        "chance-bridge-incoming-5",
        "0 becomes -1 in _two_steps",
        "apps/bridge/incoming.py",
        "if measure == ZeroConcentratedDivergence() else Fraction(0)  # [rho-steps]\n",
        "if measure == ZeroConcentratedDivergence() else Fraction(-1)  # [rho-steps]\n",
    ),
)
