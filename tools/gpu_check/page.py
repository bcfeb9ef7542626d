"""docs/hardware.md: what was measured, one section for each card and driver.

    write(path, result)      replaces the section of this card and driver, or adds one

The sections are between two marks; what is around them is written by hand and stays.
"""
import pathlib

BEGIN, END = "<!-- measured -->", "<!-- end -->"
NOT_TRIED = "Not tried."
WAYS = ("neither", "record", "history", "both")
LEDGER = (("driver_used", "cudaMemGetInfo: used"), ("nvml_device", "NVML: used of the device"),
          ("nvml_process", "NVML: used by the process"))


def bytes_text(count):
    return f"{count:,} bytes"


def span(figure):
    """"3 to 5 bytes", or one number where nothing changes."""
    if figure is None:
        return "not known"
    if figure["least"] == figure["most"]:
        return bytes_text(figure["least"])
    return f"{figure['least']:,} to {bytes_text(figure['most'])}"


def ledger_lines(result):
    for name in ("default", "expandable"):
        figures = result[name]
        yield f"| {name} | {figures['moments']} | {figures['exact_moments']} | {span(figures['segments'])} | " + (
            span(figures["blocks"]) if figures["blocks_compared"] else "not recorded (--preload)") + " | " + (
            f"{span(figures['outside'])} |")
    yield ""
    yield "| what the driver says, less the ledger | default | expandable |"
    yield "|---|---|---|"
    for key, words in LEDGER:
        yield f"| {words} | {span(result['default'][key])} | {span(result['expandable'][key])} |"


def cost_lines(result):
    for way in WAYS:
        it = result[way]
        yield (f"| {way} | {it['steps']} | {it['median_ns'] / 1e6:.2f} ms | {it['p99_ns'] / 1e6:.2f} ms | "
               f"{it['times_neither']:.3f} |")


def settings_lines(result):
    for row in result["rows"]:
        answer = "all equal" if not row["differs"] else ", ".join(
            f"{name}: {it['forecast']:,} instead of {it['was']:,}" for name, it in row["differs"].items())
        if not row["same_requests"]:
            answer = "the program asked for other memory: not compared"
        yield f"| `{row['setting']}` | {bytes_text(row['peak_reserved_bytes'])} | {answer} |"


def section(result):
    """The Markdown of one card and driver."""
    machine = result["machine"]
    lines = [f"### {machine['name']}, driver {machine['driver']}", "",
             f"Measured on {result['date']}, torch {result['torch']}, Linux {result['kernel']}, recorded "
             + ("by eBPF." if not result["why_preload"] else f"with `--preload` ({result['why_preload']})."), ""]
    for name, title, head, of in (
            ("ledger", "The ledger at the moments of a training run",
             ("| settings | moments | equal to PyTorch | segments differ by | blocks differ by | driver memory of others |",
              "|---|---|---|---|---|---|"), ledger_lines),
            ("cost", "One training step",
             ("| with | steps | median | p99 | median, times \"neither\" |", "|---|---|---|---|---|"), cost_lines),
            ("settings", "`whatif` against the program under each setting",
             ("| setting | peak reserved | forecast |", "|---|---|---|"), settings_lines)):
        part = result["parts"].get(name)
        lines += [f"{title}:", ""]
        if part is None:
            lines += [f"Left out: {result['not_run'].get(name, 'not asked for')}.", ""]
            continue
        lines += [*head, *of(part), ""]
        if part["left_out"]:
            lines += [f"Left out: {'; '.join(part['left_out'])}.", ""]
    return lines


def with_section(page, result):
    """The text of the page with this section: sections are kept, and the one of this card replaced."""
    before, begin, rest = page.partition(BEGIN)
    old, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no lines {BEGIN} and {END}")
    new = section(result)
    kept, is_kept = [], True
    for line in old.strip().splitlines():
        if line.startswith("### "):
            is_kept = line != new[0]
        if is_kept and line != NOT_TRIED:
            kept.append(line)
    text = "\n".join(kept).strip()
    return f"{before}{BEGIN}\n{text + chr(10) + chr(10) if text else ''}" + "\n".join(new).strip() + f"\n{END}{after}"


def write(path, result):
    path = pathlib.Path(path)
    path.write_text(with_section(path.read_text(encoding="utf-8"), result), encoding="utf-8")
