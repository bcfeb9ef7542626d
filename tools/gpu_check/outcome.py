"""What a check can end with besides figures: something is missing here, or it was used wrongly.

    raise Missing("no GPU: …")     exit code 77: nothing was checked, and what would change that
    raise WrongUse("…")            exit code 2
"""


class Missing(Exception):
    pass


class WrongUse(Exception):
    pass


def program_error(text):
    """What a recorded program said when it failed: the recorder's own lines come after it."""
    own = text.split("\ntidegauge: ")[0]
    return last_line(own)


def last_line(text):
    """The last line that says something: of an error, the error itself."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else "no message"
