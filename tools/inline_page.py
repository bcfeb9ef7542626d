#!/usr/bin/env python3
"""Puts the built page into one HTML text: the shell of `tidegauge export --to html`.

    tools/inline_page.py web/dist > page.html
    tools/inline_page.py --self-test

Scripts and styles stand in the text, the icon is a data: URL, and a policy names the scripts and
styles by their hashes: nothing else runs, and nothing is fetched, whatever stands in the data that
`export` puts at DATA_MARK (docs/formats/one-file-page.md).
"""

import argparse
import base64
import hashlib
import pathlib
import re
import sys
import tempfile

DATA_MARK = "<!--tidegauge:data-->"
TAG = re.compile(r"<script\b([^>]*)></script>|<link\b([^>]*)>")
ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
# What would end a script or style early, or change how the parser reads it.
FORBIDDEN = re.compile(r"</script|</style|<script|<!--|\r|\0", re.IGNORECASE)


class InlineError(Exception):
    pass


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def read_inside(folder, name):
    text = (folder / name).read_bytes().decode()
    found = FORBIDDEN.search(text)
    if found:
        raise InlineError(f"{name}: {found[0]!r} at character {found.start()} cannot stand inside "
                          "a page")
    return text


def inline(folder):
    """The page of `folder` as one text."""
    html = (folder / "index.html").read_text(encoding="utf-8")
    scripts, styles = [], []

    def replaced(match):
        attributes = dict(ATTRIBUTE.findall(match[1] or match[2] or ""))
        if "src" in attributes:
            text = read_inside(folder, attributes["src"])
            scripts.append(digest(text))
            kind = ' type="module"' if attributes.get("type") == "module" else ""
            return f"<script{kind}>{text}</script>"
        if attributes.get("rel") == "stylesheet":
            text = read_inside(folder, attributes["href"])
            styles.append(digest(text))
            return f"<style>{text}</style>"
        if attributes.get("rel") == "icon":
            icon = base64.b64encode((folder / attributes["href"]).read_bytes()).decode()
            return f'<link rel="icon" type="image/svg+xml" href="data:image/svg+xml;base64,{icon}">'
        if attributes.get("rel") == "modulepreload":
            raise InlineError(f"{attributes['href']}: a script in several files cannot be inlined")
        raise InlineError(f"{match[0]}: not known how to inline it")

    html = TAG.sub(replaced, html)
    if html.count("</body>") != 1 or html.count('<meta charset="utf-8">') != 1:
        raise InlineError("index.html: needs one </body> and one <meta charset=\"utf-8\">")
    policy = ("default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
              f"script-src {' '.join(scripts)}; style-src {' '.join(styles)}")
    head = ('<meta charset="utf-8">\n    '
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">')
    html = html.replace('<meta charset="utf-8">', head)
    return html.replace("</body>", DATA_MARK + "</body>")


def self_test():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "index.html").write_text(
            '<html><head><meta charset="utf-8"><link rel="icon" href="./i.svg">'
            '<script src="./t.js"></script><script type="module" crossorigin src="./m.js"></script>'
            '<link rel="stylesheet" crossorigin href="./s.css"></head><body></body></html>')
        for file, text in {"i.svg": "<svg/>", "t.js": "1", "m.js": "2 < 3", "s.css": "a{}"}.items():
            (folder / file).write_text(text)
        page = inline(folder)
        assert "<script>1</script>" in page and '<script type="module">2 < 3</script>' in page
        assert "<style>a{}</style>" in page and DATA_MARK + "</body>" in page
        assert digest("2 < 3") in page and digest("a{}") in page and "default-src 'none'" in page
        assert not re.search(r'(src|href)="(?!data:)', page)
        for hostile in ('"</script>"', '"<!--"', "'<SCRIPT'", "a\rb"):
            (folder / "m.js").write_bytes(hostile.encode())
            try:
                inline(folder)
            except InlineError:
                continue
            raise AssertionError(f"{hostile!r} was inlined")
    print("inline_page: ok")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dir", type=pathlib.Path, nargs="?", help="the built page")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        self_test()
    elif args.dir is None:
        parser.error("which folder?")
    else:
        try:
            sys.stdout.write(inline(args.dir))
        except InlineError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
