"""Pairs that differ in figures: bounds, odd values, power and memory."""

from __future__ import annotations

from typing import Any

from tests.judge.foreign import Change, Pair, both, cycles, policy, profile, put


def _bounds() -> dict[str, Pair]:
    out: dict[str, Pair] = {}
    for direction, sign in (("smaller", 1), ("larger", -1), ("equal", 1), ("equal", -1)):
        for label, step in (("under", 199), ("at", 200), ("over", 201), ("better", -500)):
            judged = profile({"total_cycles": policy(direction, max_regression_pct=2)})
            name = f"bound_{direction}_{'up' if sign > 0 else 'down'}_{label}"
            out[name] = Pair(cand=cycles(10000.0 + sign * step), judged_by=judged)
    for name, pct, absolute, value in (
        ("larger_bound_is_abs", 1, 300, 10300.0),
        ("larger_bound_is_pct", 5, 300, 10500.0),
        ("over_both_bounds", 1, 300, 10300.5),
        ("no_bound_equal", None, None, 10000.0),
        ("zero_bounds", 0, 0, 10000.5),
    ):
        bounds = {"max_regression_pct": pct, "max_regression_abs": absolute}
        given = {key: bound for key, bound in bounds.items() if bound is not None}
        out[f"bounds_{name}"] = Pair(cand=cycles(value), judged_by=profile({"total_cycles": policy(**given)}))
    for name, old, new, bounds in (
        ("zero_pct", 0, 1, {"max_regression_pct": 100}),
        ("zero_same", 0, 0, {"max_regression_pct": 0}),
        ("zero_abs", 0, 1, {"max_regression_abs": 1}),
        ("negative_pct_at", -100, -98, {"max_regression_pct": 2}),
        ("negative_pct_over", -100, -97, {"max_regression_pct": 2}),
        ("negative_to_positive", -1, 1, {"max_regression_abs": 2}),
        ("tiny_floats", 0.1, 0.1 + 0.2 - 0.2, {}),
        ("third_decimals", 0.3, 0.1 + 0.2, {}),
        ("huge", 1e300, 1.02e300, {"max_regression_pct": 2}),
        ("huge_int", 10**25, 10**25 + 1, {}),
    ):
        judged = profile({"total_cycles": policy(**bounds)})
        out[f"baseline_{name}"] = Pair(cycles(old), cycles(new), judged)
    return out


def _values() -> dict[str, Pair]:
    out = {}
    for name, value in (
        ("null", None),
        ("numeric_string", "10050"),
        ("spaced_string", " 1e4 "),
        ("word", "many"),
        ("true", True),
        ("list", [1]),
        ("nan", float("nan")),
        ("infinity", float("inf")),
        ("minus_infinity", float("-inf")),
        ("huge_integer", 10**400),
    ):
        out[f"value_{name}"] = Pair(cand=cycles(value))
        out[f"value_{name}_in_baseline"] = Pair(base=cycles(value))
        out[f"value_{name}_ignored_if_missing"] = Pair(cand=cycles(value), judged_by=profile(missing="ignore"))
    for where in ("fail", "warn", "ignore"):
        metrics = {"power.energy_j": policy(unit="J")}
        out[f"missing_{where}_by_profile"] = Pair(judged_by=profile(metrics, missing=where))
        own = {"power.energy_j": policy(unit="J", missing=where)}
        out[f"missing_{where}_by_metric"] = Pair(judged_by=profile(own, missing="fail"))
        out[f"missing_{where}_beside_a_fail"] = Pair(
            cand=cycles(20000), judged_by=profile({**own, "total_cycles": policy()})
        )
        out[f"missing_{where}_beside_a_pass"] = Pair(judged_by=profile({**own, "total_cycles": policy()}))
    out["missing_on_one_side"] = Pair(
        cand=put("summary", "power", "energy_j", value=1.0),
        judged_by=profile({"power.energy_j": policy(unit="J", missing="warn")}),
    )
    out["unit_differs"] = Pair(judged_by=profile({"total_cycles": policy(unit="us")}))
    out["unit_differs_but_missing"] = Pair(
        cand=cycles(None), judged_by=profile({"total_cycles": policy(unit="us", missing="ignore")})
    )
    out["our_metric_in_their_map"] = Pair(judged_by=profile({"clean.us": policy(unit="us")}))
    out["many_metrics"] = Pair(
        cand=put("summary", "binary", "text", value=210000),
        judged_by=profile(
            {
                "binary.text": policy(unit="bytes", max_regression_pct=1),
                "binary.bss": policy(unit="bytes"),
                "layers": policy("larger", ""),
                "device_profiled_infer_avg_us": policy(unit="us"),
                "memory.arena_size": policy("equal", "bytes"),
            }
        ),
    )
    return out


POWER = {"avg_power_w": 0.01, "energy_j": 0.5, "energy_per_inference_j": 0.001, "inferences_per_joule": 1000.0}


def power(**fields: Any) -> Change:
    """A power section."""
    return put("summary", "power", value={**POWER, "integrity": "valid", "clean_workload": "w", **fields})


def stated(name: str, value: Any) -> Change:
    """A dimension in the manifest."""
    return put("manifest", "comparability", name, value=value)


def _power() -> dict[str, Pair]:
    judged = profile(
        {
            "power.energy_j": policy(unit="J", max_regression_pct=1),
            "power.inferences_per_joule": policy("larger", "inferences/J", max_regression_pct=1),
            "total_cycles": policy(),
        }
    )
    out = {
        "power_same": Pair(power(), power(), judged),
        "power_worse": Pair(power(), power(energy_j=0.6), judged),
        "power_better_efficiency": Pair(power(), power(inferences_per_joule=1100.0), judged),
        "power_on_one_side": Pair(None, power(), judged),
        "power_integrity_invalid": Pair(power(), power(integrity="invalid"), judged),
        "power_integrity_diagnostic": Pair(power(integrity="diagnostic"), power(), judged),
        "power_workload_differs": Pair(power(), power(clean_workload="v"), judged),
        "power_workload_absent_on_both": Pair(power(clean_workload=None), power(clean_workload=None), judged),
        "power_workload_no_string": Pair(power(clean_workload=5), power(), judged),
        "power_monitor_block": Pair(power(), power(on_device_summary={"energy_nj": 1}), judged),
        "power_section_no_object": Pair(put("summary", "power", value=5), power(), judged),
        "power_sync_is_a_boolean": Pair(power(sync=True), power(sync={"lockstep": True}), judged),
        "power_lockstep": Pair(power(sync={"lockstep": False}), power(sync={"lockstep": True}), judged),
        "power_lockstep_not_from_the_manifest": Pair(
            both(power(), stated("power_lockstep", True)), both(power(), stated("power_lockstep", False)), judged
        ),
    }
    for field, name in (("measurement_scope", "power_scope"), ("power_firmware", "power_firmware")):
        out[f"{name}_differs"] = Pair(power(**{field: "a"}), power(**{field: "b"}), judged)
        out[f"{name}_absent"] = Pair(power(**{field: "a"}), power(), judged)
    for name in ("power_mode", "power_clean_window_probe", "power_monitor"):
        out[f"{name}_stated_differs"] = Pair(both(power(), stated(name, "a")), both(power(), stated(name, "b")), judged)
    first = power(firmware_code_fingerprint="1", power_firmware="shared")
    second = power(firmware_code_fingerprint="2", power_firmware="shared")
    out["fingerprint_differs"] = Pair(first, second, judged)
    out["fingerprint_on_another_soc"] = Pair(first, both(second, put("metadata", "platform", "soc", value="x")), judged)
    out["fingerprint_without_firmware"] = Pair(
        power(firmware_code_fingerprint="1"), power(firmware_code_fingerprint="2"), judged
    )
    return out


def regions(*rows: dict[str, Any]) -> Change:
    """A measured memory section."""
    return put("summary", "memory_regions", value={"regions": list(rows)})


def _memory() -> dict[str, Pair]:
    judged = profile(
        {
            "memory_regions.MRAM.used": policy(unit="bytes", max_regression_abs=10),
            "memory_regions.MRAM.free": policy("larger", "bytes", max_regression_abs=10),
        }
    )
    old = {"region": "MRAM", "used": 100, "free": 900}
    armlink = put("metadata", "platform", "link_family", value="armlink")
    return {
        "regions_same": Pair(regions(old), regions(old), judged),
        "regions_grown": Pair(regions(old), regions({**old, "used": 111, "free": 889}), judged),
        "regions_at_bound": Pair(regions(old), regions({**old, "used": 110, "free": 890}), judged),
        "regions_on_one_side": Pair(regions(old), None, judged),
        "regions_link_family": Pair(regions(old), both(regions(old), armlink), judged),
        "regions_link_family_without_regions": Pair(None, armlink, profile()),
        "regions_repeated": Pair(regions(old, {**old, "used": 5}), regions(old), judged),
        "regions_malformed": Pair(put("summary", "memory_regions", value=[1]), regions(old), judged),
        "regions_rows_malformed": Pair(regions(old, 5, {"used": 1}), regions(old), judged),  # type: ignore[arg-type]
        "regions_order": Pair(
            regions({"region": "ZRAM", "used": 1}, {"region": "SRAM", "used": 1}, old),
            regions({"region": "ARAM", "used": 1}, {"region": "ITCM", "used": 1}, old),
            judged,
        ),
        "regions_negative_free": Pair(regions({**old, "free": -10}), regions({**old, "free": -25}), judged),
    }


def figure_pairs() -> dict[str, Pair]:
    """All of them by name."""
    return {**_bounds(), **_values(), **_power(), **_memory()}
