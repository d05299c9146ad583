"""``make fuzz``: many cases of every area, and a table of how they ended."""

import argparse
import sys
import time

from tests.fuzz.work import AREAS, run

CASES = {"archives": 6000, "checkpoints": 1500, "folders": 1000, "tables": 1500, "estimators": 1000}


def main():
    """Run and print; the exit code says whether something failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("areas", nargs="*", help=f"some of {', '.join(AREAS)} [all]")
    parser.add_argument("--cases", type=int, help="of each area [a thousand or more]")
    parser.add_argument("--seed", type=int, default=0, help="other seeds are other cases [0]")
    parser.add_argument("--only", type=int, metavar="CASE", help="run this case alone")
    options = parser.parse_args()
    n_failed = 0
    print(f"{'area':12} {'cases':>6} {'failed':>6}  seconds  ends")
    for area in options.areas or AREAS:
        began = time.monotonic()
        cases = options.cases or CASES.get(area, 1000)
        ends, failures = run(area, cases, options.seed, options.only)
        said = ", ".join(f"{end} {count}" for end, count in ends.most_common())
        took = time.monotonic() - began
        print(f"{area:12} {ends.total():6} {len(failures):6}  {took:7.0f}  {said}", flush=True)
        for name, seed, case, text in failures:
            print(f"\n{name} --seed {seed} --only {case}\n{text}", flush=True)
        n_failed += len(failures)
    sys.exit(n_failed > 0)


if __name__ == "__main__":
    main()
