"""Settings of the tests of all processes."""


def pytest_make_parametrize_id(config, val, argname):
    """Name the cases of bad input by what is wrong with them."""
    if argname == "call":
        return "rejects"
    if argname == "words":
        return " ".join(val[:2])
    return None
