"""Part 3: `whatif` under 12 settings against the program, really run under each of them.

A training run on batches of many sizes is recorded once by PyTorch's own history under its defaults
(programs/run_once.py). `whatif --set` forecasts what each setting would have done; then the program
runs under that setting, and memory_stats() says what it did. All peaks and counts are compared.
"""
import concurrent.futures
import json
import os
import subprocess
import time

from outcome import last_line

HERE = os.path.dirname(os.path.abspath(__file__))
# (PYTORCH_CUDA_ALLOC_CONF, limit of the process as a share of the default run's reserved peak; 0: none)
SETTINGS = (
    ("expandable_segments:True", 0),
    ("max_split_size_mb:64", 0),
    ("max_split_size_mb:128", 0),
    ("max_split_size_mb:256", 0),
    ("roundup_power2_divisions:2", 0),
    ("roundup_power2_divisions:4", 0),
    ("roundup_power2_divisions:8", 0),
    ("roundup_power2_divisions:16", 0),
    ("roundup_power2_divisions:[256:1,512:2,1024:4,>:8],max_split_size_mb:64", 0),
    ("expandable_segments:True,roundup_power2_divisions:4", 0),
    ("garbage_collection_threshold:0.8", 1.05),
    ("garbage_collection_threshold:0.6,max_split_size_mb:128", 1.2),
)
KEYS = {"peak_reserved_bytes": "reserved_bytes.all.peak", "peak_active_bytes": "active_bytes.all.peak",
        "peak_split_bytes": "inactive_split_bytes.all.peak", "peak_segments": "segment.all.peak",
        "retries": "num_alloc_retries", "ooms": "num_ooms", "driver_allocs": "num_device_alloc",
        "driver_frees": "num_device_free"}
RUN_S, WHATIF_S = 60, 120  # a run may take longer if the part has more time left
AT_ONCE = 3


def run_program(tools, out, setting, fraction, seconds, *words):
    """What the program wrote of itself."""
    done = subprocess.run([tools.python, os.path.join(HERE, "programs", "run_once.py"), out, repr(fraction), *words],
                          env={**tools.environment, "PYTORCH_CUDA_ALLOC_CONF": setting},
                          capture_output=True, text=True, timeout=max(RUN_S, seconds), check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the program ended with {done.returncode} under {setting or 'the defaults'}: "
                           f"{last_line(done.stderr)}")
    with open(f"{out}.json", encoding="utf-8") as stream:
        return json.load(stream)


def forecast(tools, snapshot, total_bytes, setting, fraction):
    words = ["--capacity", f"{total_bytes}B", "--fraction", repr(fraction)] if fraction else []
    done = subprocess.run([tools.binary, "whatif", snapshot, "--set", setting, *words, "--json"],
                          capture_output=True, text=True, timeout=WHATIF_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"whatif --set {setting}: {last_line(done.stderr)}")
    return json.loads(done.stdout)["devices"][0]["candidates"][0]


def compare(setting, fraction, forecast_of, base, really):
    """One row: what was forecast and what was, and whether the program asked for the same."""
    asked = [it["stats"]["allocation.all.allocated"] for it in (base, really)]
    row = {"setting": setting, "fraction": fraction, "same_requests": asked[0] == asked[1], "differs": {}}
    for name, key in KEYS.items():
        was = really["stats"].get(key, 0)
        if forecast_of[name] != was:
            row["differs"][name] = {"forecast": forecast_of[name], "was": was}
    row["peak_reserved_bytes"] = really["stats"]["reserved_bytes.all.peak"]
    row["forecast_peak_reserved_bytes"] = forecast_of["peak_reserved_bytes"]
    return row


def run(tools, folder, seconds):
    until = time.monotonic() + seconds
    base_out = os.path.join(folder, "base")
    base = run_program(tools, base_out, "", 0.0, seconds, "history")
    peak, total = base["stats"]["reserved_bytes.all.peak"], base["total_bytes"]

    def one(number):
        setting, share = SETTINGS[number]
        if time.monotonic() > until:
            return None
        fraction = share * peak / total
        said = forecast(tools, f"{base_out}.pickle", total, setting, fraction)
        really = run_program(tools, os.path.join(folder, f"run{number}"), setting, fraction,
                             until - time.monotonic())
        return compare(setting, fraction, said, base, really)

    workers = max(1, min(AT_ONCE, (os.cpu_count() or 1) // 2))
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        rows = list(pool.map(one, range(len(SETTINGS))))
    left_out = [f"{SETTINGS[i][0]}: no time" for i, row in enumerate(rows) if row is None]
    return {"default_peak_reserved_bytes": peak, "rows": [row for row in rows if row], "left_out": left_out}


def problems(result):
    """What is wrong, in words."""
    for row in result["rows"]:
        if not row["same_requests"]:
            yield f"whatif: under {row['setting']} the program asked for other memory, so it is not compared"
        elif row["differs"]:
            yield f"whatif: {row['setting']}: {row['differs']}"
    if not result["rows"]:
        yield "whatif: no setting was tried within the time"
