#!/usr/bin/env python3
"""Prints the values that noise_test.cpp expects: ends of exact intervals, by bisection over sums
of exact fractions (binomial), or of 50 digits (Poisson). Nothing here is shared with the library
under test."""
from decimal import Decimal, getcontext
from fractions import Fraction
from math import comb

getcontext().prec = 50


def poisson_at_most(count, mean):
    term = total = Decimal(1)
    for i in range(1, count + 1):
        term *= mean / i
        total += term
    return total * (-mean).exp() if count >= 0 else Decimal(0)


def binomial_at_most(count, of, share):
    return sum(comb(of, i) * share**i * (1 - share) ** (of - i) for i in range(count + 1))


def bisect(low, high, is_below, steps):
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low


def poisson(count, error):
    half = Decimal(error) / 2
    most = Decimal(4 * count + 60)
    low = bisect(Decimal(0), most, lambda m: 1 - poisson_at_most(count - 1, m) < half, 80)
    high = bisect(Decimal(0), most, lambda m: poisson_at_most(count, m) > half, 80)
    return (low if count else Decimal(0)), high


def binomial(count, of, error):
    half = Fraction(error) / 2
    low = bisect(Fraction(0), Fraction(1), lambda p: 1 - binomial_at_most(count - 1, of, p) < half, 36)
    high = bisect(Fraction(0), Fraction(1), lambda p: binomial_at_most(count, of, p) > half, 36)
    return (low if count else 0), (high if count < of else 1)


for count in (0, 1, 3, 5, 20, 100):
    for error in ("0.05", "0.0001"):
        low, high = poisson(count, error)
        print(f"    {{{count}, {error}, {low:.9f}, {high:.9f}}},")
for count, of in ((0, 10), (3, 10), (10, 10), (1, 40), (39, 40)):
    for error in ("0.05", "0.0001"):
        low, high = binomial(count, of, error)
        print(f"    {{{count}, {of}, {error}, {float(low):.9f}, {float(high):.9f}}},")
