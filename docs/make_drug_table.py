"""Make drugs.csv: invented cell lines, invented drugs, simulated responses with gaps."""

import csv

import numpy as np

DRUGS = ["alphametinib", "betametinib", "gammametinib", "alphatinib", "betatinib"]
DRUGS += ["alphataxel", "betataxel", "alphanostat", "betanostat", "alphaparib"]
TISSUES = ["blood", "skin", "lung", "breast"]
N_SUBTYPES, N_LINES, GAPS = 3, 6, 0.08
rng = np.random.default_rng(3)

with open("drugs.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["cell_line", "tissue", *DRUGS])
    for tissue in TISSUES:
        of_tissue = rng.normal(3.5, 1.0, len(DRUGS))  # a tissue's mean response to every drug,
        for subtype in range(N_SUBTYPES):
            of_subtype = rng.normal(of_tissue, 0.5)  # those of its subtypes around it,
            for line in range(N_LINES):
                response = rng.normal(of_subtype, 0.3)  # and those of cell lines around these
                cells = [f"{value:.2f}" for value in response]
                for gap in np.flatnonzero(rng.random(len(DRUGS)) < GAPS):
                    cells[gap] = ""  # never measured
                name = f"{tissue.upper()}-{100 * (subtype + 1) + line + 1}"
                table.writerow([name, tissue, *cells])
