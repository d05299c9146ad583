"""The evidence of one leaf, its parameters integrated out: by definition, and in closed form.

``rows`` are the data of the leaf, (n, D) with NaN for what is missing; ``u`` is φ of its parent.
The closed forms take many ``u`` at once, (…, P).
"""

import numpy as np
from scipy import integrate, stats
from scipy.special import betaln, expit, gammainc, gammaln, log_expit, log_softmax, multigammaln

LOG_2PI = np.log(2 * np.pi)


def log_leaf_evidence(rows, u, setting):
    """Return the log evidence of a leaf, in closed form."""
    return sum(log_block_evidence(rows, u, setting, columns) for columns in setting.blocks)


def log_block_evidence(rows, u, setting, columns):
    """Return what the columns of one block add to the log evidence; ``u`` has all coordinates."""
    u = np.asarray(u, dtype=float)[..., setting.coordinates(columns)]
    kappa, a, b = setting.hyper[:, columns[0]]
    y = rows[:, columns]
    kind = setting.kinds[columns[0]]
    if kind == "gaussian":
        if setting.form == "full":
            return log_full(y, u, kappa, len(columns) - 1 + 2 * a, setting.psi)
        return log_spherical(y, u, kappa, a, b, setting.floor[columns[0]])
    y = y[~np.isnan(y)]
    if kind == "categorical":
        return log_categorical(y, u, kappa)
    if kind == "binomial":
        return log_binomial(y, u[..., 0], kappa, trials_of_entries(rows, columns[0]))
    return {"poisson": log_poisson, "negative_binomial": log_negative_binomial}[kind](
        y, u[..., 0], kappa, a
    )


# ---- closed forms ----------------------------------------------------------------------------


def log_spherical(y, u, kappa, a, b, floor):
    """Return the evidence of columns that share one variance; one column is the diagonal form."""
    rate, n_total, log_kappas = a * b, 0, 0.0
    for j in range(y.shape[1]):
        seen = y[~np.isnan(y[:, j]), j]
        n = seen.size
        if n == 0:
            continue
        rate = rate + ((seen - seen.mean()) ** 2).sum() / 2
        rate = rate + kappa * n / (2 * (kappa + n)) * (seen.mean() - u[..., j]) ** 2
        n_total += n
        log_kappas += np.log(kappa / (kappa + n)) / 2
    shape = a + n_total / 2
    value = -n_total / 2 * LOG_2PI + log_kappas + gammaln(shape) - gammaln(a)
    value = value + a * np.log(a * b) - shape * np.log(rate)
    if floor > 0:
        value = value + np.log(gammainc(shape, rate / floor)) - np.log(gammainc(a, a * b / floor))
    return value + np.zeros(u.shape[:-1])


def log_full(y, u, kappa, nu, psi):
    """Return the evidence of rows with one full covariance; missing entries are integrated out.

    Of the rows with missing entries the last needs no integral: its observed entries have a
    covariance that is inverse Wishart as well. All others do, one entry after another.
    """
    y = y[~np.isnan(y).all(axis=1)]
    missing = np.isnan(y)
    incomplete = np.flatnonzero(missing.any(axis=1))
    if incomplete.size > 1:
        i, j = np.argwhere(missing)[0]
        # Tails are powers: in x = arsinh of the entry they are exponentials.
        x, step = np.linspace(-12.0, 12.0, 145, retstep=True)
        seen = y[~missing[:, j], j]
        centre, width = seen.mean() if seen.size else 0.0, np.sqrt(psi[j, j] / nu)
        terms = []
        for point in x:
            y[i, j] = centre + width * np.sinh(point)
            terms.append(log_full(y, u, kappa, nu, psi) + np.log(width * np.cosh(point) * step))
        return np.logaddexp.reduce(terms, axis=0)
    value, (u, kappa, nu, psi) = log_niw(y[~missing.any(axis=1)], u, kappa, nu, psi)
    if incomplete.size:
        seen = ~missing[incomplete[0]]
        psi = psi[..., seen, :][..., seen]
        nu = nu - (~seen).sum()
        value = value + log_niw(y[incomplete][:, seen], u[..., seen], kappa, nu, psi)[0]
    return value


def log_niw(y, u, kappa, nu, psi):
    """Return the evidence of complete rows under a normal inverse Wishart, and its posterior."""
    n, dimension = y.shape
    psi = np.broadcast_to(psi, (*u.shape, dimension))
    if n == 0:
        return np.zeros(u.shape[:-1]), (u, kappa, nu, psi)
    mean = y.mean(axis=0)
    apart = mean - u
    new_psi = psi + (y - mean).T @ (y - mean)
    new_psi = new_psi + kappa * n / (kappa + n) * apart[..., :, None] * apart[..., None, :]
    value = (
        -n * dimension / 2 * np.log(np.pi)
        + dimension / 2 * np.log(kappa / (kappa + n))
        + multigammaln((nu + n) / 2, dimension)
        - multigammaln(nu / 2, dimension)
        + nu / 2 * np.linalg.slogdet(psi)[1]
        - (nu + n) / 2 * np.linalg.slogdet(new_psi)[1]
    )
    return value, ((kappa * u + n * mean) / (kappa + n), kappa + n, nu + n, new_psi)


def log_categorical(y, u, kappa):
    """Return the Dirichlet-multinomial probability of a sequence of categories."""
    prior = kappa * np.exp(log_softmax(u, axis=-1))
    count = np.bincount(y.astype(int), minlength=u.shape[-1])
    value = (gammaln(prior + count) - gammaln(prior)).sum(axis=-1)
    return value + gammaln(kappa) - gammaln(kappa + y.size)


def log_poisson(y, u, kappa, _):
    shape = kappa * np.exp(u)
    return (
        gammaln(shape + y.sum())
        - gammaln(shape)
        + shape * np.log(kappa)
        - (shape + y.sum()) * np.log(kappa + y.size)
        - gammaln(y + 1).sum()
    )


def log_negative_binomial(y, u, kappa, r):
    up, down = kappa * expit(u), kappa * expit(-u)
    choices = (gammaln(y + r) - gammaln(r) - gammaln(y + 1)).sum()
    return choices + betaln(up + y.sum(), down + r * y.size) - betaln(up, down)


def trials_of_entries(rows, d):
    """Return the trials of the entries of a binomial column that are there."""
    return rows[~np.isnan(rows[:, d]), d + 1]


def log_choices(y, trials):
    return (gammaln(trials + 1) - gammaln(y + 1) - gammaln(trials - y + 1)).sum()


def log_binomial(y, u, kappa, trials):
    up, down = kappa * expit(u), kappa * expit(-u)
    value = betaln(up + y.sum(), down + (trials - y).sum()) - betaln(up, down)
    return value + log_choices(y, trials)


# ---- definitions -----------------------------------------------------------------------------


def log_leaf_evidence_by_definition(rows, u, setting):
    """Return the log evidence of a leaf from integrals over its parameters, for one ``u``."""
    total = 0.0
    for columns in setting.blocks:
        y, here = rows[:, columns], u[setting.coordinates(columns)]
        kappa, a, b = setting.hyper[:, columns[0]]
        kind = setting.kinds[columns[0]]
        if kind == "gaussian" and setting.form == "full":
            total += define_full(y, here, kappa, len(columns) - 1 + 2 * a, setting.psi)
        elif kind == "gaussian":
            total += define_spherical(y, here, kappa, a, b, setting.floor[columns[0]])
        elif kind == "binomial":
            trials = trials_of_entries(rows, columns[0])
            total += define_binomial(y[~np.isnan(y)], here, kappa, trials)
        else:
            define = {
                "categorical": define_categorical,
                "poisson": define_poisson,
                "negative_binomial": define_negative_binomial,
            }[kind]
            total += define(y[~np.isnan(y)], here, kappa, a)
    return total


def log_integral(log_density, low, high):
    """Return the log of an integral of a density with one peak in (low, high)."""
    x = np.linspace(low, high, 251)
    logs = np.array([log_density(point) for point in x])
    top = logs.max()
    inside = np.flatnonzero(logs > top - 60)
    ends = x[max(inside[0] - 1, 0)], x[min(inside[-1] + 1, x.size - 1)]
    value, _ = integrate.quad(
        lambda point: np.exp(log_density(point) - top),
        *ends,
        points=[x[logs.argmax()]],
        epsabs=0,
        epsrel=1e-9,
        limit=400,
    )
    return top + np.log(value)


def define_spherical(y, u, kappa, a, b, floor):
    """Integrate over s; given s the entries of a column are normal, and share the leaf's mean."""
    prior = stats.invgamma(a, scale=a * b)
    columns = [(y[~np.isnan(y[:, j]), j], u[j]) for j in range(y.shape[1])]

    def log_density(log_s):
        s = np.exp(log_s)
        value = prior.logpdf(s) - np.log(prior.sf(floor)) + log_s
        for seen, mean in columns:
            if seen.size:
                covariance = s * (np.eye(seen.size) + 1 / kappa)
                value += stats.multivariate_normal.logpdf(
                    seen, np.full(seen.size, mean), covariance
                )
        return value

    return log_integral(log_density, np.log(floor) if floor > 0 else -15.0, 40.0)


def define_full(y, u, kappa, nu, psi):
    """Multiply the predictive densities of one row after another; integrate what is missing."""
    if np.isnan(y).any():
        i, j = np.argwhere(np.isnan(y))[0]

        def log_density(x):
            filled = y.copy()
            filled[i, j] = np.sinh(x)
            return define_full(filled, u, kappa, nu, psi) + np.log(np.cosh(x))

        return log_integral(log_density, -15.0, 15.0)
    total, dimension = 0.0, len(u)
    for row in y:
        degrees = nu - dimension + 1
        scale = psi * (kappa + 1) / (kappa * degrees)
        total += stats.multivariate_t.logpdf(row, u, scale, degrees)
        psi = psi + kappa / (kappa + 1) * np.outer(row - u, row - u)
        u = (kappa * u + row) / (kappa + 1)
        kappa, nu = kappa + 1, nu + 1
    return total


def define_categorical(y, u, kappa, _):
    """Draw from an urn, category after category."""
    balls = kappa * np.exp(u) / np.exp(u).sum()
    total = 0.0
    for category in y.astype(int):
        total += np.log(balls[category] / balls.sum())
        balls[category] += 1
    return total


def define_poisson(y, u, kappa, _):
    prior = stats.gamma(kappa * np.exp(u[0]), scale=1 / kappa)

    def log_density(x):
        return prior.logpdf(np.exp(x)) + x + stats.poisson.logpmf(y, np.exp(x)).sum()

    # A prior of small shape reaches far down.
    return log_integral(log_density, -60.0 / min(1.0, kappa * np.exp(u[0])), 12.0)


def define_negative_binomial(y, u, kappa, r):
    up, down = kappa * expit(u[0]), kappa * expit(-u[0])
    choices = (gammaln(y + r) - gammaln(r) - gammaln(y + 1)).sum()

    def log_density(x):  # of x = logit q; laws of scipy lose digits where q is near 1
        prior = up * log_expit(x) + down * log_expit(-x) - betaln(up, down)
        return prior + choices + y.sum() * log_expit(x) + y.size * r * log_expit(-x)

    return log_integral(log_density, -60.0 / min(1.0, up), 60.0 / min(1.0, down))


def define_binomial(y, u, kappa, trials):
    up, down = kappa * expit(u[0]), kappa * expit(-u[0])

    def log_density(x):  # of x = logit q
        prior = up * log_expit(x) + down * log_expit(-x) - betaln(up, down)
        return prior + y.sum() * log_expit(x) + (trials - y).sum() * log_expit(-x)

    ends = -60.0 / min(1.0, up), 60.0 / min(1.0, down)
    return log_integral(log_density, *ends) + log_choices(y, trials)
