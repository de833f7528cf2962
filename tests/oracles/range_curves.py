"""Hockey-stick divergences of explicit mechanisms of bounded range, at 40 digits, and a bound from the literature."""

import itertools
from typing import Any

import mpmath


def odds(a: Any, t: Any) -> mpmath.mpf:
    """The probability under P' of the outcome with loss t, the other outcome having loss t - a."""
    return (1 - mpmath.exp(t - a)) / (1 - mpmath.exp(-a))


def two_outcomes(a: Any, t: Any, epsilon: Any) -> mpmath.mpf:
    """The hockey-stick divergence of the mechanism with losses t and t - a."""
    p = odds(a, t)
    return p * max(0, 1 - mpmath.exp(epsilon - t)) + (1 - p) * max(0, 1 - mpmath.exp(epsilon - t + a))


def best_of_two_outcomes(a: Any, epsilon: Any) -> mpmath.mpf:
    """The largest over 2000 values of t, refined by golden section around the best of them."""
    with mpmath.workdps(40):
        a, epsilon = mpmath.mpf(a), mpmath.mpf(epsilon)
        grid = [a * i / 2000 for i in range(2001)]
        best = max(range(2001), key=lambda i: two_outcomes(a, grid[i], epsilon))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 2000)]
        ratio = (mpmath.sqrt(5) - 1) / 2
        for _ in range(90):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            if two_outcomes(a, left, epsilon) < two_outcomes(a, right, epsilon):
                low = left
            else:
                high = right
        return two_outcomes(a, (low + high) / 2, epsilon)


def adaptive(k: int, a: Any, cells: int) -> list[mpmath.mpf]:
    """The curve at 0, h, 2h, ..., k a (h = a / cells) of the best k adaptive steps whose losses are multiples of h.

    These are mechanisms, so no valid curve lies below this one.
    """
    with mpmath.workdps(40):
        a = mpmath.mpf(a)
        h, n = a / cells, cells
        up = [odds(a, i * h) for i in range(n + 1)]
        reach = k * n
        values = {i: max(mpmath.mpf(0), 1 - mpmath.exp(i * h)) for i in range(-reach, reach + 1)}
        for _ in range(k):
            reach -= n
            wide = {**values, **{i: mpmath.mpf(0) for i in range(k * n + 1, (k + 2) * n + 1)}}
            values = {
                i: max(up[j] * wide[i - j] + (1 - up[j]) * wide[i - j + n] for j in range(n + 1))
                for i in range(-reach, k * n + 1)
            }
        return [values[i] for i in range(k * n + 1)]


def zcdp_epsilon(rho: float, delta: float) -> mpmath.mpf:
    """The classical conversion rho + 2 sqrt(rho ln(1 / delta))."""
    with mpmath.workdps(40):
        return rho + 2 * mpmath.sqrt(rho * mpmath.log(1 / mpmath.mpf(delta)))


def zcdp_delta(rho: Any, epsilon: Any, alpha: Any) -> mpmath.mpf:
    """The delta that the order alpha gives."""
    with mpmath.workdps(60):
        rho, epsilon, alpha = mpmath.mpf(rho), mpmath.mpf(epsilon), mpmath.mpf(alpha)
        tail = (alpha - 1) * (alpha * rho - epsilon) + (alpha - 1) * mpmath.log1p(-1 / alpha) - mpmath.log(alpha)
        return mpmath.exp(tail)


def one_more_step(nodes: list[float], a: Any, cells: int) -> list[mpmath.mpf]:
    """The recursion of the proof, from the float nodes of a curve at 0, h, 2h, ... (h = a / cells) to the next ones.

    In 60 digits, with none of the additions that pay for rounding.
    """
    with mpmath.workdps(60):
        a, n, size = mpmath.mpf(a.numerator) / a.denominator, cells, len(nodes) - 1
        h = a / n
        up = [odds(a, i * h) for i in range(n + 1)]
        most = (1 - mpmath.exp(-h)) / (4 * (1 - mpmath.exp(-a)))
        right = [mpmath.mpf(float(node)) for node in nodes]
        left = [1 - mpmath.exp(-i * h) + mpmath.exp(-i * h) * right[i] for i in range(n, 0, -1)]
        wide = [*left, *right, *[right[-1]] * n]
        drop = [x - y for x, y in zip(wide, wide[n:], strict=False)]
        bend = [max(mpmath.mpf(0), mpmath.exp(h) * x - y) for x, y in itertools.pairwise(drop)]
        cells = [mpmath.mpf(0), *bend, mpmath.mpf(0)]
        found = []
        for j in range(size + 1):
            ends = [up[i] * wide[n - i + j] + (1 - up[i]) * wide[2 * n - i + j] for i in range(n + 1)]
            lifted = [end + most * max(cells[n - i + j : n - i + j + 2]) for i, end in enumerate(ends)]
            found.append(min(max(lifted), mpmath.mpf(1)))
        return found


def independent(k: int, a: Any, t: Any, epsilon: Any) -> mpmath.mpf:
    """The hockey-stick divergence of k independent mechanisms with losses t and t - a each."""
    with mpmath.workdps(20):
        a, t, epsilon = (mpmath.mpf(one.numerator) / one.denominator for one in (a, t, epsilon))
        p, total = odds(a, t), mpmath.mpf(0)
        for high in range(k, -1, -1):
            loss = k * t - (k - high) * a
            if loss <= epsilon:
                break
            mass = mpmath.binomial(k, high) * p**high * (1 - p) ** (k - high)
            total += mass * (1 - mpmath.exp(epsilon - loss))
        return total
