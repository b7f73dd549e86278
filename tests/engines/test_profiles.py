"""The rounding profiles can be told apart: what one of them computes does not pass as the other."""

from __future__ import annotations

import pytest

from harness.engines.reference import run_reference
from harness.model.load import load_model
from tests.engines.cases import random_inputs
from tests.engines.host import HostCompiler
from tests.engines.profile_models import SEEDS, make, model_path
from tests.engines.test_operators import differences

INPUTS = 40


@pytest.mark.parametrize("profile", sorted(SEEDS))
def test_the_committed_model_is_the_seeded_one(profile: str) -> None:
    assert model_path(profile).read_bytes() == make(profile)


@pytest.mark.parametrize("profile", sorted(SEEDS))
def test_only_the_profile_of_the_reference_passes(profile: str, host_compiler: HostCompiler) -> None:
    (other,) = set(SEEDS) - {profile}
    model = load_model(model_path(profile))
    inputs = random_inputs([model.tensors[index].nbytes for index in model.inputs], 5, INPUTS)
    reference = run_reference(model.path, inputs, profile)
    names = [op.name for op in model.operators]

    def wrong(rounding: str) -> list[str]:
        cases = host_compiler.engine(model, name="rounding", rounding=rounding).run(inputs)
        return [
            text
            for got, want in zip(cases, reference, strict=True)
            for text in differences(got.layers, want.layers, names)
        ]

    assert wrong(profile) == []
    assert wrong(other) != []
