"""The generated section of a page: what is between two marker comments, and nothing else.

    <!-- bench report -->
    …
    <!-- end of bench report -->
"""
BEGIN, END = "<!-- bench report -->", "<!-- end of bench report -->"


def replaced(page, text):
    """The page with `text` between its markers."""
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise ValueError(f"the page needs one {BEGIN} and, after it, one {END}")
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{text.strip()}\n{END}{after}"
