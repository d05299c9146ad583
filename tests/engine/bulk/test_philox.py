"""Random numbers of rows: known answers, and ranks."""

import numpy as np

from sticktree.engine.bulk.philox import mix, philox
from sticktree.jit import jit


@jit
def both_words(row, sweep, purpose, key):
    return philox(row, sweep, purpose, key)


def test_philox_gives_the_numbers_of_its_authors():
    # From the known answers that come with Random123, for 4x32 words and ten rounds.
    ones = np.uint64(2**64 - 1)
    low = np.uint64(0xFFFFFFFF)
    first, second = both_words(np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0))
    assert (int(first), int(second)) == (0xE169C58D6627E8D5, 0x9B00DBD8BC57AC4C)
    first, second = both_words(ones, low, low, ones)
    assert (int(first), int(second)) == (0x41C83B0E408F276D, 0x6D5451FDA20BC7C6)


def test_no_two_rows_have_the_same_rank():
    ranks = {int(mix(np.uint64(row), np.uint64(7))) for row in range(20_000)}
    assert len(ranks) == 20_000
