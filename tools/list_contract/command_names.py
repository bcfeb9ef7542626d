"""Commands and options, from --help; exit codes, from their table in docs/use/commands.md."""

import re

from programs import ROOT, Missing, run

OPTION = re.compile(r"^  (-{1,2}[\w-][^ ]*(?:, ?-{1,2}[\w-]+)*(?: [^ ]+)*?)(?:  +.*)?$")
EXTRAS = re.compile(r" (?:REQUIRED|Excludes:.*|Needs:.*)")
COMMAND = re.compile(r"^  ([a-z][\w-]*)(?:  +.*)?$")


def in_part(help_text, heading):
    """The lines of a part of --help, without those that only explain."""
    lines, inside = [], False
    for line in help_text.splitlines():
        if line and not line.startswith(" "):
            inside = line.rstrip().rstrip(":").lower() == heading
        elif inside and re.match(r"^  \S", line):
            lines.append(line)
    return lines


def commands(options):
    top = run(options.binary, "--help")
    yield from option_lines("tidegauge", top)
    for command in commands_in(top):
        yield f"tidegauge {command}"
        yield from option_lines(f"tidegauge {command}", run(options.binary, command, "--help"))


def commands_in(help_text):
    return [COMMAND.match(line)[1] for line in in_part(help_text, "subcommands")]


def option_lines(command, help_text):
    for line in in_part(help_text, "positionals"):
        yield f"{command} {line.split()[0]}"
    for line in in_part(help_text, "options"):
        option = OPTION.match(line)
        if option and option[1].split(",")[0] not in ("-h", "--help"):
            yield f"{command} {EXTRAS.sub('', option[1]).strip()}"


def exit_codes(_):
    """The table below the heading "Exit codes"."""
    page = (ROOT / "docs/use/commands.md").read_text(encoding="utf-8")
    heading = re.search(r"^#+ Exit codes?\n(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL)
    if not heading:
        raise Missing("docs/use/commands.md has no section “Exit codes”")
    found = re.findall(r"^\| `?(\d)`? \| (.*?) \|", heading[1], re.MULTILINE)
    for code, words in found:
        yield f"{code}  {words}"
